import { encode } from "@msgpack/msgpack";
import { ManualClock } from "@outrider/backoff/testing";
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Broadcast } from "../../src/driver/process-driver/broadcast.ts";
import { findCgroups } from "../../src/driver/process-driver/cgroup-mounts.ts";
import { checkSizes, MAX_TOTAL_BYTES, resolveCommand, withoutDenied } from "../../src/driver/process-driver/command.ts";
import { openDriverLog } from "../../src/driver/process-driver/driver-log.ts";
import { FilePool } from "../../src/driver/process-driver/file-pool.ts";
import { isAlive, readProcStat, signalProcess, UNKNOWN_START } from "../../src/driver/process-driver/identity.ts";
import { isExportable, quote, quoteAll } from "../../src/driver/process-driver/shell-words.ts";
import { signalNumber } from "../../src/driver/process-driver/signals.ts";
import { emptySlot, parseSlot, readSlot, saveResult, SLOT_BYTES } from "../../src/driver/process-driver/slot.ts";
import { SpawnQueue } from "../../src/driver/process-driver/spawn-queue.ts";
import { decodeSettings } from "../../src/driver/process-driver/task-settings.ts";
import { META_VERSION, TaskStore } from "../../src/driver/process-driver/task-store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-pieces-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a slot", () => {
  it("is read part by part, each only with its closing dot", () => {
    expect(parseSlot("\n".repeat(512))).toEqual({});
    expect(parseSlot("S 10 100 11 101\n")).toEqual({});
    const started = { shim: { pid: 10, startTime: "100" }, task: { pid: 11, startTime: "101" } };
    expect(parseSlot("S 10 100 11 101 .\n\n")).toEqual(started);
    expect(parseSlot("S 10 100 11 101 .\nE 3\n[1] + Done(3)   \n")).toEqual(started);
    expect(parseSlot("S 10 100 11 101 .\nE 3\n[1] + Done(3)   \n.\n")).toEqual({
      ...started,
      exit: { exitCode: 3, signal: 0 },
    });
  });

  it.each([
    ["dash", "E 137\n[1] + Killed   \n.\n", { exitCode: 137, signal: 9 }],
    ["dash", "E 137\n[1] + Done(137)\n.\n", { exitCode: 137, signal: 0 }],
    ["dash", "E 0\n[1] + Done\n.\n", { exitCode: 0, signal: 0 }],
    ["dash", "E 139\n[1] + Segmentation fault (core dumped) \n.\n", { exitCode: 139, signal: 11 }],
    ["ash", "E 143\n[1]+  Terminated                 (exec 1>&6)\n.\n", { exitCode: 143, signal: 15 }],
    [
      "bash",
      "[1]+  Running   ( exec )\n[1]+  Exit 137                ( exec )\nE 137\n.\n",
      { exitCode: 137, signal: 0 },
    ],
    ["bash", "[1]+  Stopped   ( exec )\n[1]+  Real-time signal 1  ( exec )\nE 163\n.\n", { exitCode: 163, signal: 35 }],
    ["a shell that says nothing", "E 3\n.\n", { exitCode: -1, signal: 0 }],
  ])("understands the words of %s: %j", (_shell, text, exit) => {
    expect(parseSlot(`S 1 2 3 4 .\n${text}`).exit).toEqual(exit);
  });

  it("keeps its size and the shim's words when the result is saved in place", () => {
    const path = join(folder, "slot");
    writeFileSync(path, emptySlot());
    const line = "S 10 100 11 101 .\nE 9\n[1] + Done(9)\n.\n";
    writeFileSync(path, line, { flag: "r+" });
    saveResult(path, { exitCode: 9, signal: 0, oomKilled: true, completedAtMs: 1_700_000_000_000 });
    expect(readFileSync(path)).toHaveLength(SLOT_BYTES);
    expect(readSlot(path)).toMatchObject({
      exit: { exitCode: 9 },
      result: { exitCode: 9, signal: 0, oomKilled: true, completedAtMs: 1_700_000_000_000 },
    });
    expect(readSlot(join(folder, "none"))).toEqual({});
    expect(() => readSlot(join(folder, "slot", "x"))).toThrow("ENOTDIR");
  });
});

describe("shell words", () => {
  it("come back from sh as they were", () => {
    const words = fc.array(
      fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(words, (given) => {
        const seen = execFileSync("/bin/sh", ["-c", `printf '%s\\0' x ${quoteAll(given)}`], { encoding: "utf8" });
        expect(seen.split("\0").slice(1, -1)).toEqual(given);
      }),
      { numRuns: 30 },
    );
    expect(quote("it's")).toBe("'it'\\''s'");
  });

  it("are exported only under names that shells leave alone", () => {
    for (const name of ["PATH", "HOME", "NOMAD_ADDR_http", "_x"]) expect(isExportable(name)).toBe(true);
    for (const name of ["a.b", "1a", "", "IFS", "PWD", "PS1", "_", "BASH_ENV", "UID", "OPTIND"])
      expect(isExportable(name)).toBe(false);
  });
});

describe("task settings", () => {
  const decode = (value: unknown): unknown => decodeSettings(encode(value));

  it("take the seven attributes, null ones as absent", () => {
    const nothing = {
      args: null,
      cgroup_v1_override: null,
      cgroup_v2_override: null,
      command: "/bin/date",
      denied_envvars: null,
      oom_score_adj: null,
      work_dir: null,
    };
    expect(decode(nothing)).toEqual({
      command: "/bin/date",
      args: [],
      workDir: "",
      deniedEnv: [],
      cgroupV1: {},
      cgroupV2: "",
      limits: {},
      umask: "",
    });
    expect(
      decode({
        command: "a",
        args: ["-u"],
        work_dir: "/tmp",
        oom_score_adj: 10,
        denied_envvars: ["A*"],
        cgroup_v1_override: [{ pids: "x" }, null],
        cgroup_v2_override: "y",
      }),
    ).toEqual({
      command: "a",
      args: ["-u"],
      workDir: "/tmp",
      limits: {},
      umask: "",
      oomScoreAdj: 10,
      deniedEnv: ["A*"],
      cgroupV1: { pids: "x" },
      cgroupV2: "y",
    });
  });

  it.each([
    [{ args: [] }, "command"],
    [{ command: 5 }, "command"],
    [{ command: "a\0b" }, "command"],
    [{ command: "a", args: "b" }, "args"],
    [{ command: "a", args: ["a\0"] }, "args"],
    [{ command: "a", work_dir: "b" }, "work_dir"],
    [{ command: "a", oom_score_adj: -1 }, "oom_score_adj"],
    [{ command: "a", oom_score_adj: 1.5 }, "oom_score_adj"],
    [{ command: "a", cgroup_v1_override: "x" }, "cgroup_v1_override"],
    [{ command: "a", cgroup_v1_override: [{ pids: 5 }] }, "cgroup_v1_override"],
    [{ command: "a", image: "b" }, "image"],
    [[1], "config"],
  ])("are refused by field: %j", (value, field) => {
    expect(() => decode(value)).toThrow(
      expect.objectContaining({ recoverable: false, message: expect.stringContaining(`raw_exec config: ${field} `) }),
    );
  });

  it("are refused when they are no msgpack", () => {
    expect(() => decodeSettings(new Uint8Array())).toThrow("not msgpack");
  });
});

describe("a command", () => {
  it("is found in the task's local folder, the task's folder, then on the path", () => {
    mkdirSync(join(folder, "local"));
    const tool = (path: string, mode = 0o755): string => {
      writeFileSync(path, "#!/bin/sh\n");
      chmodSync(path, mode);
      return path;
    };
    expect(resolveCommand("sh", folder, "relative:/bin")).toBe("/bin/sh");
    const own = tool(join(folder, "sh"));
    expect(resolveCommand("sh", folder, "/bin")).toBe(own);
    expect(resolveCommand("sh", folder, "/bin")).toBe(own);
    const local = tool(join(folder, "local", "sh"));
    expect(resolveCommand("sh", folder, "/bin")).toBe(local);
    expect(resolveCommand("local/sh", folder, "/bin")).toBe(local);
    tool(join(folder, "plain"), 0o644);
    expect(() => resolveCommand("plain", folder, "/bin")).toThrow('binary "plain" is not executable');
    expect(() => resolveCommand("nope/x", folder, "/bin")).toThrow('binary "nope/x" could not be found');
    expect(() => resolveCommand(folder, folder, "/bin")).toThrow("could not be found");
  });

  it("is refused when the kernel would refuse it", () => {
    checkSizes(["x".repeat(131_071)], { A: "y".repeat(131_069) });
    expect(() => checkSizes(["ok", "x".repeat(131_072)], {})).toThrow("argument 1 is 131072 bytes long");
    expect(() => checkSizes([], { A: "é".repeat(65_535) })).toThrow("environment variable A is 131072 bytes long");
    expect(() => checkSizes([], { "A=B": "" })).toThrow('environment variable "A=B" cannot be passed');
    expect(() => checkSizes([], { A: "\0" })).toThrow("cannot be passed");
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`V${i}`, "v".repeat(110_000)]));
    expect(() => checkSizes([], many)).toThrow(`the limit is ${MAX_TOTAL_BYTES}`);
  });

  it("gets no variable that the job denies, by name or pattern", () => {
    const env = { AWS_KEY: "1", AWS_ID: "2", HOME: "3", "A.B": "4" };
    expect(withoutDenied(env, [])).toBe(env);
    expect(withoutDenied(env, ["AWS_*", "A.B"])).toEqual({ HOME: "3" });
    expect(withoutDenied({ AxB: "1" }, ["A.B"])).toEqual({ AxB: "1" });
  });
});

describe("cgroups", () => {
  const proc = (mountinfo: string, cgroup: string): string => {
    writeFileSync(join(folder, "mountinfo"), mountinfo);
    writeFileSync(join(folder, "cgroup"), cgroup);
    return folder;
  };
  const tree = (path: string): string => {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, "cgroup.procs"), "");
    return join(folder, path);
  };

  it("of version 1 are those that this process is in, with memory and cpu when they can be written", () => {
    const freezer = tree("freezer/box");
    const memory = tree("memory/a b");
    const mounts = [
      `36 31 0:35 / ${join(folder, "memory").replaceAll(" ", "\\040")} rw - cgroup cgroup rw,memory`,
      `37 31 0:36 /box ${join(folder, "freezer")} rw - cgroup cgroup rw,freezer`,
      `41 31 0:38 / ${join(folder, "unified")} rw shared:9 - cgroup2 cgroup2 rw`,
      `1 2 3:4 / / rw - ext4 /dev/sda rw`,
    ].join("\n");
    expect(findCgroups(proc(mounts, "6:freezer:/box/box\n4:memory:/a b\n0::/\n"))).toMatchObject({
      mode: "v1",
      members: freezer,
      memory,
      unified: join(folder, "unified"),
    });
  });

  it("of version 2 are used when there is no other, and none where nothing can be written", () => {
    const unified = tree("unified/slice");
    const mounts = `41 31 0:38 / ${join(folder, "unified")} rw - cgroup2 cgroup2 rw`;
    expect(findCgroups(proc(mounts, "0::/slice\n"))).toMatchObject({ mode: "v2", members: unified });
    expect(findCgroups(proc(mounts, "0::/elsewhere\n"))).toMatchObject({ mode: "none" });
    expect(findCgroups(proc("", ""))).toEqual({ mode: "none", controllers: {} });
    expect(findCgroups(join(folder, "nowhere"))).toEqual({ mode: "none", controllers: {} });
  });
});

describe("identity", () => {
  it("is a pid with its start time; anything else is left alone", () => {
    const own = readProcStat(process.pid);
    const startTime = own?.startTime ?? "";
    expect(isAlive({ pid: process.pid, startTime })).toBe(true);
    expect(isAlive({ pid: process.pid, startTime: `${Number(startTime) + 1}` })).toBe(false);
    expect(isAlive({ pid: process.pid, startTime: UNKNOWN_START })).toBe(false);
    expect(signalProcess({ pid: process.pid, startTime: "1" }, 9)).toBe(false);
    expect(signalProcess({ pid: 1, startTime: readProcStat(1)?.startTime ?? "" }, 0)).toBe(false);
    expect(readProcStat(2 ** 22 + 5)).toBeUndefined();
    expect(own?.parent).toBe(process.ppid);
  });

  it("knows signals by name only", () => {
    expect([signalNumber("SIGHUP"), signalNumber("hup"), signalNumber("SIGUSR1")]).toEqual([1, 1, 10]);
    expect(() => signalNumber("9")).toThrow(expect.objectContaining({ code: "ERR_OUTRIDER_DRIVER_SIGNAL" }));
  });
});

describe("the task store", () => {
  const meta = {
    version: META_VERSION,
    id: "a/t/1",
    name: "t",
    allocId: "a",
    bootId: "b",
    startedAtMs: 1,
    fifos: ["o", "e"] as const,
    group: { mode: "none" as const },
    workDir: "/",
  };

  it("forgets what was never complete and refuses what it cannot understand", () => {
    const store = new TaskStore(folder);
    const key = TaskStore.keyOf("a/t/1");
    store.create(key, { ...meta, fifos: ["o", "e"] }, "spec");
    expect(() => store.create(key, { ...meta, fifos: ["o", "e"] }, "spec")).toThrow("EEXIST");
    writeFileSync(join(folder, "slots", "lonely"), "");
    writeFileSync(join(folder, "tasks", "half.json"), "{");
    writeFileSync(join(folder, "specs", "left"), "");
    expect(store.keys()).toEqual([key]);
    expect(store.readMeta(key)).toMatchObject({ id: "a/t/1" });
    expect(store.readMeta("none")).toBeUndefined();
    writeFileSync(join(folder, "tasks", `${key}.json`), JSON.stringify({ ...meta, version: META_VERSION + 1 }));
    expect(store.readMeta(key)).toBeUndefined();
    writeFileSync(join(folder, "tasks", `${key}.json`), "{");
    expect(store.readMeta(key)).toBeUndefined();
    store.remove(key);
    store.remove(key);
    expect(store.keys()).toEqual([]);
  });
});

describe("the pool of small files", () => {
  const spares = (): string[] => readdirSync(join(folder, "spare"));
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");

  it("makes files where it has none, and uses a returned one again with nothing of its old words", () => {
    const pool = new FilePool(join(folder, "spare"));
    pool.replace(join(folder, "a"), "a long first text");
    const { ino } = statSync(join(folder, "a"));
    pool.give(join(folder, "a"));
    pool.give(join(folder, "a"));
    expect(spares()).toHaveLength(1);
    pool.replace(join(folder, "b"), "short");
    expect(text("b")).toBe("short");
    expect(statSync(join(folder, "b"))).toMatchObject({ ino, mode: 0o100600 });
    expect(spares()).toEqual([]);
  });

  it("refuses a name that is taken, with a spare file and without", () => {
    const pool = new FilePool(join(folder, "spare"));
    pool.create(join(folder, "a"), Buffer.from("first"));
    expect(() => pool.create(join(folder, "a"), Buffer.from("second"))).toThrow("EEXIST");
    pool.create(join(folder, "b"), Buffer.from("b"));
    pool.give(join(folder, "b"));
    expect(() => pool.create(join(folder, "a"), Buffer.from("second"))).toThrow("EEXIST");
    expect(text("a")).toBe("first");
    expect(spares()).toEqual([]);
  });

  it("leaves no word of a wiped file on the disk, and keeps no long one", () => {
    const pool = new FilePool(join(folder, "spare"));
    pool.replace(join(folder, "secret"), "PASSWORD=x");
    pool.giveWiped(join(folder, "secret"));
    pool.giveWiped(join(folder, "secret"));
    expect(text(join("spare", spares()[0] ?? ""))).toBe("\0".repeat(10));
    pool.replace(join(folder, "long"), "x".repeat(100_000));
    pool.giveWiped(join(folder, "long"));
    expect(spares()).toEqual([]);
    expect(readdirSync(folder)).toEqual(["spare"]);
  });

  it("takes over what an earlier driver left, but nothing that is in use, gone, or too much", () => {
    const first = new FilePool(join(folder, "spare"));
    for (let index = 0; index < 600; index++) writeFileSync(join(folder, `f${index}`), "");
    for (let index = 0; index < 600; index++) first.give(join(folder, `f${index}`));
    expect(spares()).toHaveLength(512);
    for (let index = 512; index < 600; index++) writeFileSync(join(folder, "spare", String(index)), "");
    writeFileSync(join(folder, "spare", "foreign"), "");
    const second = new FilePool(join(folder, "spare"));
    expect(spares()).toHaveLength(512);
    // as a kill between the two names leaves it
    const names = spares();
    linkSync(join(folder, "spare", names.at(-1) ?? ""), join(folder, "used"));
    rmSync(join(folder, "spare", names.at(-2) ?? ""));
    second.replace(join(folder, "new"), "new");
    expect(text("used")).toBe("");
    expect(text("new")).toBe("new");
    expect(statSync(join(folder, "used")).ino).not.toBe(statSync(join(folder, "new")).ino);
  });

  it("passes on what the disk refuses", () => {
    const pool = new FilePool(join(folder, "spare"));
    writeFileSync(join(folder, "a"), "");
    pool.give(join(folder, "a"));
    rmSync(join(folder, "spare", spares()[0] ?? ""));
    mkdirSync(join(folder, "spare", "0"));
    expect(() => pool.replace(join(folder, "b"), "b")).toThrow("EISDIR");
  });
});

describe("small helpers", () => {
  it("spawn two at a time, in order, and pass failures on", async () => {
    const queue = new SpawnQueue();
    const begun: number[] = [];
    const ends: Array<() => void> = [];
    const jobs = [0, 1, 2, 3].map((n) =>
      queue.add(async () => {
        begun.push(n);
        await new Promise<void>((resolve) => (ends[n] = resolve));
        return n;
      }),
    );
    const turns = async (): Promise<void> => {
      for (let n = 0; n < 4; n++) await new Promise((resolve) => setImmediate(resolve));
    };
    expect(begun).toEqual([]);
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[1]?.();
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    ends[0]?.();
    ends[2]?.();
    await turns();
    ends[3]?.();
    expect(await Promise.all(jobs)).toEqual([0, 1, 2, 3]);
    await expect(queue.add(() => Promise.reject(new Error("no fork")))).rejects.toThrow("no fork");
    expect(await queue.add(() => Promise.resolve("goes on"))).toBe("goes on");
  });

  it("send events to everybody who listens, the oldest dropped for the slow", async () => {
    const events = new Broadcast<number>();
    const stop = new AbortController();
    const stream = events.stream(stop.signal);
    const first = stream.next();
    for (let n = 0; n < 1_200; n++) events.send(n);
    expect((await first).value).toBe(200);
    stop.abort();
    expect((await stream.next()).done).toBe(true);
  });

  it("write log lines as JSON with the cause, and turn the file over", () => {
    const path = join(folder, "driver.log");
    const log = openDriverLog(path, "info", new ManualClock());
    log.debug("unseen");
    log.child({ taskId: "x" }).warn({ err: Object.assign(new Error("why"), { code: "ENOSPC" }) }, "what");
    log.error({ err: "text" }, "odd");
    log.info("plain");
    const lines = readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ["warn", "what"],
      ["error", "odd"],
      ["info", "plain"],
    ]);
    expect(lines[0]).toMatchObject({
      taskId: "x",
      err: { message: "why", code: "ENOSPC" },
      time: "2026-01-01T00:00:00.000Z",
    });
    for (let n = 0; n < 60; n++) log.info({ fill: "x".repeat(100_000) }, "fill");
    expect(readFileSync(`${path}.1`).length).toBeGreaterThan(5_000_000);
    expect(readFileSync(path).length).toBeLessThan(5_000_000);
  });
});
