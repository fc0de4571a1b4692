/** A driver written in Go, on HashiCorp's own go-plugin, run by our client, with everything killed that can be. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jobOf, Rig, until } from "./harness.ts";
import { alive, processesBelow } from "./processes.ts";

const SOURCE = fileURLToPath(new URL("../../../../packages/plugin-driver/test/interop/go", import.meta.url));
const plugins = mkdtempSync(join(tmpdir(), "outrider-go-plugins-"));

function goMissing(): string | undefined {
  try {
    const env = { ...process.env, GOFLAGS: "-mod=readonly -buildvcs=false" };
    execFileSync("go", ["build", "-o", join(plugins, "go-driver"), "."], {
      cwd: SOURCE,
      env,
      stdio: "pipe",
      timeout: 300_000,
    });
    return undefined;
  } catch (reason) {
    return reason instanceof Error ? reason.message.split("\n").slice(0, 3).join(" ") : String(reason);
  }
}

const missing = goMissing();
if (missing !== undefined) console.log(`the Go driver is not run by the client: ${missing}`);
afterAll(() => rmSync(plugins, { recursive: true, force: true }));

describe.skipIf(missing !== undefined)("a Go driver in our client", () => {
  let rig: Rig;
  let notes: string;
  beforeAll(async () => {
    rig = new Rig("go-driver", {
      flags: () => [
        "-port=0",
        `-plugin-dir=${plugins}`,
        "-plugin=interop-go=go-driver",
        '-plugin-config=interop-go={"greeting": "from the agent"}',
      ],
    });
    notes = join(rig.dir, "notes");
    mkdirSync(notes);
    await rig.start();
  });
  afterAll(async () => {
    await rig.close();
    await until("the end of the plugin", () => pluginPids().length === 0);
  });

  const pluginPids = (): number[] =>
    processesBelow(plugins).flatMap(({ pid, command }) => (command === join(plugins, "go-driver") ? [pid] : []));
  const note = (name: string): string[] =>
    existsSync(join(notes, name)) ? readFileSync(join(notes, name), "utf8").trimEnd().split("\n") : [];
  const task = (name: string, script: string, config: object = {}): Record<string, unknown> => ({
    Name: "t",
    Driver: "interop-go",
    Config: { script: `echo $$ >>'${join(notes, name)}'; ${script}`, ...config },
    Resources: { CPU: 1, MemoryMB: 10 },
    KillTimeout: 2_000_000_000,
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 2 },
  });
  const ends = (alloc: any): unknown[] =>
    alloc.TaskStates.t.Events.filter((e: any) => e.Type === "Terminated").map((e: any) => [e.ExitCode, e.Signal]);
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await rig.cli(...args);
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, ""]);
    return stdout;
  };

  it("is detected and healthy, with what the agent configured", async () => {
    const [{ ID }] = await rig.call<any[]>("GET", "/v1/nodes");
    const node = await until("a healthy driver", async () => {
      const found = await rig.call<any>("GET", `/v1/node/${ID}`);
      return found.Drivers["interop-go"]?.Healthy === true && found;
    });
    expect(node.Attributes["driver.interop.greeting"]).toBe("from the agent");
    expect(await ok("node", "status", "-self")).toMatch(/interop-go/);
    expect(pluginPids()).toHaveLength(1);
  });

  it("runs a job with logs, statistics, signals, exec and a stop", async () => {
    await rig.submit(
      jobOf("day", [
        task("day", "trap 'echo got HUP' HUP; trap 'exit 5' INT; echo up; echo no >&2; while :; do sleep 0.1; done"),
      ]),
    );
    const { ID } = await rig.alloc("day", "runs", (a) => a.ClientStatus === "running");
    await until("output", async () => (await ok("alloc", "logs", ID)) === "up\n");
    expect(await ok("alloc", "logs", "-stderr", ID)).toBe("no\n");
    const rss = await until("statistics", async () => {
      const stats = await rig.call<any>("GET", `/v1/client/allocation/${ID}/stats`);
      return stats.Tasks?.t?.ResourceUsage?.MemoryStats?.RSS || undefined;
    });
    expect(rss).toBeGreaterThan(100_000);
    await ok("alloc", "signal", "-s", "SIGHUP", ID);
    await until("the answer to the signal", async () => (await ok("alloc", "logs", ID)).includes("got HUP"));
    const words = ["-i=false", "-t=false", ID, "/bin/sh", "-c", 'echo "$NOMAD_TASK_NAME"; echo oops >&2; exit 3'];
    expect(await rig.cli("alloc", "exec", ...words)).toEqual({ code: 3, stdout: "t\n", stderr: "oops\n" });
    await ok("job", "stop", "day");
    const ended = await rig.alloc("day", "complete", (a) => a.ClientStatus === "complete");
    expect(ends(ended)).toEqual([[5, 0]]);
    expect(note("day")).toHaveLength(1);
  });

  it("fails a task in its own words, and one whose config does not fit", async () => {
    await rig.submit(jobOf("refused", [task("refused", "exit 0", { refuse: "false" })]));
    const refused = await rig.alloc("refused", "failed", (a) => a.ClientStatus === "failed");
    const messages = (alloc: any): string =>
      alloc.TaskStates.t.Events.map((e: any) => `${e.Type}: ${e.DisplayMessage}`).join("\n");
    expect(messages(refused)).toMatch(/Driver Failure: .*boom/);
    await rig.submit(jobOf("unknown", [task("unknown", "exit 0", { nothing: "like this" })]));
    const unknown = await rig.alloc("unknown", "failed", (a) => a.ClientStatus === "failed");
    expect(messages(unknown)).toMatch(/config\.nothing/);
    expect([note("refused"), note("unknown")]).toEqual([[], []]);
  });

  it.each(["the agent", "the plugin", "both"])(
    "keeps its tasks over kill -9 of %s: none doubled, each with its exit code and all it wrote",
    async (victim) => {
      const id = victim.replace("the ", "kill-");
      const go = join(notes, `${id}-go`);
      const when = (file: string): string => `until [ -e '${file}' ]; do sleep 0.05; done; echo "last words"`;
      const scripts = { over: `${when(go)}; exit 7`, gap: `${when(`${go}-gap`)}; exit 3` };
      for (const [name, script] of Object.entries(scripts))
        await rig.submit(jobOf(`${id}-${name}`, [task(`${id}-${name}`, script)], { type: "batch" }));
      for (const name of Object.keys(scripts))
        await rig.alloc(`${id}-${name}`, "runs", (a) => a.ClientStatus === "running");
      const [before] = pluginPids();
      const pidOf = (name: string): Promise<number> =>
        until(`the pid of ${name}`, () => Number(note(`${id}-${name}`)[0] ?? 0) || undefined);
      const [pid, gap] = [await pidOf("over"), await pidOf("gap")];
      if (victim !== "the plugin") await rig.end("SIGKILL");
      if (victim !== "the agent") process.kill(before as number, "SIGKILL");
      // One task ends while nobody looks.
      execFileSync("touch", [`${go}-gap`]);
      if (victim !== "the plugin") {
        await until("the end of one task", () => !alive(gap));
        await rig.start();
      }
      await until(
        "one plugin process",
        () => pluginPids().length === 1 && (victim === "the agent" || pluginPids()[0] !== before),
      );
      expect(alive(pid)).toBe(true);
      execFileSync("touch", [go]);
      const codes = { over: 7, gap: 3 };
      for (const name of ["over", "gap"] as const) {
        const ended = await rig.alloc(`${id}-${name}`, "failed", (a) => a.ClientStatus === "failed");
        expect([name, ends(ended)]).toEqual([name, [[codes[name], 0]]]);
        expect([name, await ok("alloc", "logs", ended.ID)]).toEqual([name, "last words\n"]);
        expect(note(`${id}-${name}`)).toHaveLength(1);
      }
    },
  );
});
