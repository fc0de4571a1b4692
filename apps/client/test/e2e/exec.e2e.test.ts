/** `alloc exec` of our command line and of a stock one, against our agent: with a real task and real terminals. */
import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alive } from "../driver/harness.ts";
import { foregroundOf } from "./processes.ts";
import { cleanEnv, exec, jobOf, MAIN, Rig, type Run, shTask, until } from "./harness.ts";

const NOMAD = process.env["NOMAD_BIN"];
if (NOMAD === undefined) console.log("NOMAD_BIN is not set: only our own command line is tried");

const rig = new Rig("exec");
let id = "";

beforeAll(async () => {
  await rig.start();
  await rig.submit(jobOf("talker", [shTask("talk", "while :; do sleep 0.2; done"), shTask("idle", "exec sleep 1000")]));
  id = (await rig.alloc("talker", "running", (alloc) => alloc.ClientStatus === "running")).ID;
});
afterAll(() => rig.close());

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Runs a command line on a terminal of `rows` by `columns` and types; what it shows comes back. */
function onTerminal(
  command: readonly string[],
  o: { rows: number; columns: number; keys?: (screen: () => string, pid: number) => AsyncGenerator<string> },
): Promise<Run> {
  const line = `stty rows ${o.rows} cols ${o.columns}; exec ${command.map(quoted).join(" ")}`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    env: cleanEnv({ ...rig.cliEnv(), SHELL: "/bin/sh" }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  let screen = "";
  child.stdout.on("data", (chunk) => (screen += String(chunk)));
  const type = async (): Promise<void> => {
    for await (const keys of o.keys?.(() => screen, child.pid as number) ?? []) child.stdin.write(keys);
  };
  return new Promise((resolve, reject) => {
    type().catch(reject);
    child.on("close", (code) => resolve({ code: code ?? -1, stdout: screen, stderr: "" }));
  });
}

describe.each([
  ["outrider", [process.execPath, MAIN]],
  ["nomad", [NOMAD ?? ""]],
] as const)("alloc exec of %s", (name, tool) => {
  const skip = name === "nomad" && NOMAD === undefined;
  const run = (...args: string[]): Promise<Run> =>
    exec(tool[0], [...tool.slice(1), "alloc", "exec", ...args], cleanEnv(rig.cliEnv()));

  it.skipIf(skip)("keeps output, error output and exit code apart", async () => {
    const done = await run("-task", "talk", id, "/bin/sh", "-c", "echo out; echo err >&2; exit 7");
    expect(done).toEqual({ code: 7, stdout: "out\n", stderr: "err\n" });
    expect((await run("-task", "talk", id, "/bin/true")).code).toBe(0);
  });

  it.skipIf(skip)("runs in the task's folder and environment", async () => {
    const { stdout } = await run(
      "-task",
      "talk",
      id,
      "/bin/sh",
      "-c",
      "pwd; echo $NOMAD_TASK_NAME; echo $NOMAD_SECRETS_DIR",
    );
    expect(stdout).toMatch(/\/talk\ntalk\n\/.*\/talk\/secrets\n$/);
  });

  it.skipIf(skip)("passes on the input, and its end", async () => {
    const done = await new Promise<Run>((resolve) => {
      const args = [...tool.slice(1), "alloc", "exec", "-i=true", "-t=false", "-task", "talk", id, "/usr/bin/md5sum"];
      const child = execFile(tool[0], args, { env: cleanEnv(rig.cliEnv()) }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
      child.stdin?.end(Buffer.alloc(3_000_000, "x"));
    });
    expect(done.stdout).toMatch(/^1a4bc83ab77a2d5d8c4bf9ae7b8ba1a5|^[0-9a-f]{32} {2}-\n$/);
    expect(done.code).toBe(0);
    const none = await run("-i=false", "-t=false", "-task", "talk", id, "/bin/cat");
    expect(none).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it.skipIf(skip)("loses nothing of a large output", async () => {
    const { stdout } = await run("-task", "talk", id, "/usr/bin/seq", "1", "200000");
    expect(stdout.length).toBe(1_288_895);
    expect(stdout.endsWith("\n199999\n200000\n")).toBe(true);
  });

  it.skipIf(skip)("tells what is wrong", async () => {
    const lost = await run("-task", "talk", id, "/bin/nonexistent");
    expect(lost.code).toBe(1);
    expect(lost.stderr).toMatch(/^failed to exec into task: .*"\/bin\/nonexistent"/);
    expect((await run("-task", "zzz", id, "/bin/true")).stderr).toContain("Could not find task named: zzz");
    expect((await run(id, "/bin/true")).code).toBe(1);
  });

  it.skipIf(skip)("gives a terminal as large as the user's", async () => {
    const command = [
      ...tool,
      "alloc",
      "exec",
      "-i",
      "-t",
      "-task",
      "talk",
      id,
      "/bin/sh",
      "-c",
      // The size comes by a message of its own, which a busy machine may bring after the command's start.
      'tty; until [ "$(stty size)" != "0 0" ]; do sleep 0.05; done; stty size; exit 3',
    ];
    const { code, stdout } = await onTerminal(command, { rows: 41, columns: 97 });
    expect(stdout).toMatch(/\/dev\/pts\/\d+\r\n41 97\r\n/);
    expect(code).toBe(3);
  });

  it.skipIf(skip)("is a whole session: a prompt, keys, a window that changes, ^C, the exit code", async () => {
    async function* keys(screen: () => string, pid: number): AsyncGenerator<string> {
      const shown = (text: string | RegExp): Promise<unknown> =>
        until(`${text} in ${JSON.stringify(screen())}`, () =>
          typeof text === "string" ? screen().includes(text) : text.test(screen()),
        );
      await shown(/[#$] /);
      yield "echo A$((1+1)) $$; tty\r";
      await shown(/A2 \d+\r\n\/dev\/pts\/(\d+)/);
      const shell = Number(/A2 (\d+)/.exec(screen())?.[1]);
      yield "sleep 1000\r";
      await until("the foreground job", () => foregroundOf(shell) === "sleep");
      yield "\u0003";
      await until("the shell in the foreground", () => foregroundOf(shell) === "sh");
      yield "stty size\r";
      await shown("24 80\r\n");
      // the user's own terminal, as it is seen from there
      const outer = await outerTerminal(pid);
      await exec("stty", ["-F", outer, "rows", "50", "cols", "132"], process.env);
      while (!screen().includes("50 132")) {
        yield "stty size\r";
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      yield "exit 5\r";
    }
    const command = [...tool, "alloc", "exec", "-i", "-t", "-task", "talk", id, "/bin/sh"];
    const { code, stdout } = await onTerminal(command, { rows: 24, columns: 80, keys });
    expect(stdout).toContain("50 132");
    expect(code).toBe(5);
  });

  it.skipIf(skip)("ends the command when the user is gone", async () => {
    const args = [...tool.slice(1), "alloc", "exec", "-task", "talk", id, "/bin/sh", "-c", "echo pid $$; sleep 1000"];
    const child = spawn(tool[0], args, { env: cleanEnv(rig.cliEnv()), stdio: ["pipe", "pipe", "ignore"] });
    let stdout = "";
    child.stdout.on("data", (chunk) => (stdout += String(chunk)));
    await until("the command", () => /pid \d+/.test(stdout));
    const pid = Number(/pid (\d+)/.exec(stdout)?.[1]);
    child.kill("SIGKILL");
    await until("its end", () => !alive(pid));
  });
});

/** Where the standard input of what script(1) runs leads to. */
async function outerTerminal(script: number): Promise<string> {
  const { stdout } = await exec("pgrep", ["-P", String(script)], process.env);
  const link = await exec("readlink", [`/proc/${stdout.trim()}/fd/0`], process.env);
  return link.stdout.trim();
}

it("tells that a task does not run any more", async () => {
  await rig.submit(jobOf("short", [shTask("t", "exit 0")], { type: "batch" }));
  const { ID } = await rig.alloc("short", "complete", (alloc) => alloc.ClientStatus === "complete");
  const done = await rig.cli("alloc", "exec", ID, "/bin/true");
  expect(done).toMatchObject({ code: 1, stderr: 'failed to exec into task: task "t" is not running.\n' });
});

it("leaves no terminal and no spec behind", async () => {
  const folder = `${rig.data}/driver`;
  const { stdout } = await exec("ls", [folder], process.env);
  expect(stdout).not.toContain("exec-");
  expect(readFileSync(`${folder}/driver.log`, "utf8")).not.toContain('"@level":"error"');
});
