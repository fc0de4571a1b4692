/** Commands on a terminal of their own, both ways of making one, with a real task beside them. */
import { encode } from "@msgpack/msgpack";
import type { ExecInput, ExitResult, TaskConfig } from "@outrider/plugin-driver";
import { systemClock } from "@outrider/backoff";
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findHostTools } from "../../src/driver/process-driver/host-tools.ts";
import { execOnTerminal } from "../../src/driver/process-driver/terminal-exec.ts";
import { startOnTerminal, terminalWay, type TerminalWay } from "../../src/driver/process-driver/terminal.ts";
import { listNames } from "../../src/driver/process-driver/files.ts";
import { foregroundOf } from "../e2e/processes.ts";
import { alive, until } from "./harness.ts";
import { makeLocalDriver } from "./local-driver.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-terminal-"));
const host = { tools: findHostTools(), folder, clock: systemClock };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A keyboard whose keys are pressed one after another, when the screen shows what is waited for. */
class Keyboard {
  screen = "";
  readonly #waiting: Array<(frame: ExecInput | undefined) => void> = [];
  readonly #frames: Array<ExecInput | undefined> = [];

  press(frame: ExecInput | undefined): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#frames.push(frame);
    else next(frame);
  }

  type(text: string): void {
    this.press({ stdin: { data: Buffer.from(text) } });
  }

  async *frames(): AsyncGenerator<ExecInput> {
    for (;;) {
      const frame =
        this.#frames.length > 0
          ? this.#frames.shift()
          : await new Promise<ExecInput | undefined>((resolve) => this.#waiting.push(resolve));
      if (frame === undefined) return;
      yield frame;
    }
  }
}

interface Run {
  readonly keyboard: Keyboard;
  readonly result: Promise<ExitResult>;
  readonly stop: AbortController;
}

function run(way: TerminalWay, script: string, o: { env?: Record<string, string>; first?: ExecInput[] } = {}): Run {
  const keyboard = new Keyboard();
  for (const frame of o.first ?? []) keyboard.press(frame);
  const stop = new AbortController();
  const input = {
    cgroupProcs: [],
    workDir: folder,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", ...o.env },
    program: "/bin/sh",
    args: ["-c", script],
  };
  const show = async (): Promise<ExitResult> => {
    const order: string[] = [];
    for await (const frame of execOnTerminal(input, keyboard.frames(), host, stop.signal, way)) {
      order.push(...Object.keys(frame));
      if (frame.stdout?.data !== undefined) keyboard.screen += Buffer.from(frame.stdout.data).toString();
      if (frame.exited !== undefined) {
        expect(order).not.toContain("stderr");
        return frame.exited;
      }
    }
    throw new Error("no exit");
  };
  return { keyboard, result: show(), stop };
}

const WAYS: readonly TerminalWay[] = ["openpty", "script"];

it("uses koffi here, and tells so", () => {
  expect(terminalWay()).toBe("openpty");
});

describe.each(WAYS)("a terminal by %s", (way) => {
  it("is one for the program, of the size that the user's has, and stays so after a change", async () => {
    const { keyboard, result } = run(way, "tty; stty size; read go; stty size; exit 3", {
      first: [{ ttySize: { height: 33, width: 77 } }],
    });
    await until("the first size", () => keyboard.screen.includes("33 77"));
    expect(keyboard.screen).toMatch(/^\/dev\/pts\/\d+\r\n33 77\r\n$/);
    keyboard.press({ ttySize: { height: 50, width: 132 } });
    keyboard.type("\n");
    expect(await result).toEqual({ exitCode: 3, signal: 0, oomKilled: false });
    expect(keyboard.screen).toContain("50 132\r\n");
  });

  it("tells a running program that its window has changed", async () => {
    // stty sets rows and columns one after the other: a program may be told twice
    const { keyboard, result } = run(
      way,
      `trap 'stty size; [ "$(stty size)" != "11 22" ] || exit 9' WINCH; echo ready; while :; do sleep 0.05; done`,
    );
    await until("the program", () => keyboard.screen.includes("ready"));
    keyboard.press({ ttySize: { height: 11, width: 22 } });
    expect((await result).exitCode).toBe(9);
    expect(keyboard.screen).toContain("11 22");
  });

  it("gives the command a controlling terminal: ^C interrupts the foreground job, the shell goes on", async () => {
    const { keyboard, result } = run(way, "exec sh -i", { env: { PS1: "$ " } });
    keyboard.type("echo shell $$\n");
    await until("the shell", () => /shell \d+\r/.test(keyboard.screen));
    const shell = Number(/shell (\d+)\r/.exec(keyboard.screen)?.[1]);
    keyboard.type("sleep 1000\n");
    await until("the foreground job", () => foregroundOf(shell) === "sleep");
    keyboard.type("\u0003");
    keyboard.type("echo A$((1+1)); exit 5\n");
    expect(await result).toEqual({ exitCode: 5, signal: 0, oomKilled: false });
    expect(keyboard.screen).toContain("A2\r\n");
  });

  it("turns the end of the input into ^D, also in the middle of a line", async () => {
    const { keyboard, result } = run(way, "cat; echo end", {
      first: [{ stdin: { data: Buffer.from("one\nhalf") } }, { stdin: { close: true } }],
    });
    expect((await result).exitCode).toBe(0);
    expect(keyboard.screen.replaceAll("\b", "").replaceAll("^D", "")).toMatch(/one\r\nhalf[^]*end\r\n$/);
  });

  it("loses nothing of what a command writes right before its end", async () => {
    for (let round = 0; round < 5; round++) {
      const { keyboard, result } = run(way, "seq 1 50000");
      expect((await result).exitCode).toBe(0);
      expect(keyboard.screen).toBe(Array.from({ length: 50_000 }, (_, index) => `${index + 1}\r\n`).join(""));
    }
  });

  it("takes more keys than the kernel keeps, and gives them all to a slow program", async () => {
    const { keyboard, result } = run(way, "stty raw -echo; echo go; sleep 0.3; head -c 300000 | md5sum");
    await until("the program", () => keyboard.screen.includes("go"));
    const keys = Buffer.alloc(300_000, "0123456789");
    keyboard.press({ stdin: { data: keys } });
    await result;
    const sum = execFileSync("md5sum", { input: keys, encoding: "utf8" }).slice(0, 32);
    expect(keyboard.screen).toContain(sum);
  });

  it("ends everything in the session when the user is gone", async () => {
    const { keyboard, result, stop } = run(
      way,
      "set -m; trap '' HUP; sleep 1000 & echo bg $!; sh -c 'trap \"\" HUP; echo fg $$; sleep 1000'",
    );
    await until("both", () => /bg \d+[^]*fg \d+/.test(keyboard.screen));
    const pids = [...keyboard.screen.matchAll(/[bf]g (\d+)/g)].map((match) => Number(match[1]));
    expect(pids.map(alive)).toEqual([true, true]);
    stop.abort(new Error("gone"));
    await expect(result).rejects.toThrow("gone");
    await until("their end", () => pids.every((pid) => !alive(pid)));
  });

  it("leaves no spec file and no descriptor behind", async () => {
    const before = listNames("/proc/self/fd").length;
    for (let round = 0; round < 3; round++) await run(way, "exit 0").result;
    await until("descriptors", () => listNames("/proc/self/fd").length <= before);
    expect(listNames(folder)).toEqual([]);
  });

  it("sets TERM only when the task does not", async () => {
    const plain = run(way, 'echo "<$TERM>"');
    await plain.result;
    expect(plain.keyboard.screen).toContain("<xterm>");
    const own = run(way, 'echo "<$TERM>"', { env: { TERM: "vt100" } });
    await own.result;
    expect(own.keyboard.screen).toContain("<vt100>");
  });

  it.runIf(process.getuid?.() === 0)("belongs to the task's user", async () => {
    const input = {
      cgroupProcs: [],
      workDir: "/",
      env: { PATH: "/usr/bin:/bin" },
      user: { uid: 65_534, gid: 65_534, name: "nobody", home: "/" },
      program: "/bin/sh",
      args: ["-c", 'id -u; [ -w "$(tty)" ] && echo writable'],
    };
    let screen = "";
    const frames = (async function* () {})();
    for await (const { stdout } of execOnTerminal(input, frames, host, new AbortController().signal, way)) {
      screen += Buffer.from(stdout?.data ?? []).toString();
    }
    expect(screen).toBe(way === "openpty" ? "65534\r\nwritable\r\n" : "65534\r\n");
  });
});

it("names both ways where there is none", () => {
  const input = { cgroupProcs: [], workDir: "/", env: {}, program: "/bin/true", args: [] };
  expect(() => startOnTerminal(input, host, { way: "none" })).toThrow(/koffi .* script/);
});

describe("in a task", () => {
  const local = makeLocalDriver();
  let id = "";

  beforeAll(async () => {
    const allocDir = join(local.folder, "alloc");
    mkdirSync(join(allocDir, "t"), { recursive: true });
    for (const name of ["out", "err"]) writeFileSync(join(allocDir, name), "");
    const config: TaskConfig = {
      id: "a/t/1",
      name: "t",
      jobId: "j",
      jobName: "j",
      taskGroupName: "g",
      allocId: "a",
      namespace: "default",
      nodeId: "",
      nodeName: "",
      parentJobId: "",
      msgpackDriverConfig: encode({ command: "/bin/sleep", args: ["1000"] }),
      env: { PATH: "/usr/bin:/bin", COLOUR: "blue" },
      deviceEnv: {},
      mounts: [],
      devices: [],
      user: "",
      allocDir,
      stdoutPath: join(allocDir, "out"),
      stderrPath: join(allocDir, "err"),
    };
    await local.driver.startTask(config);
    id = config.id;
  });
  afterAll(async () => {
    await local.driver.destroyTask(id, true);
    local.close();
  });

  it("has its folder, environment and cgroup", async () => {
    let screen = "";
    let code: number | undefined;
    const request = { command: ["sh", "-c", "pwd; echo $COLOUR; cat /proc/self/cgroup; exit 4"], tty: true };
    const frames = (async function* () {})();
    for await (const frame of local.driver.execTaskStreaming(id, request, frames, new AbortController().signal)) {
      screen += Buffer.from(frame.stdout?.data ?? []).toString();
      code = frame.exited?.exitCode ?? code;
    }
    expect(code).toBe(4);
    const [pwd, colour, ...groups] = screen.split("\r\n");
    expect([pwd, colour]).toEqual([join(local.folder, "alloc", "t"), "blue"]);
    const task = Number((await local.driver.inspectTask(id)).status.attributes?.["pid"]);
    const own = readFileSync(`/proc/${task}/cgroup`, "utf8");
    for (const line of groups.filter((text) => /freezer|memory/.test(text))) expect(own).toContain(line);
  });
});

// a leftover of the machine's terminals would show here
it("can still open a terminal", () => {
  closeSync(openSync("/dev/ptmx", "r+"));
});
