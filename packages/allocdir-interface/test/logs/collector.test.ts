import { ManualClock } from "@outrider/backoff/testing";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type CollectRequest,
  createLogCollector,
  type LogCollector,
  type LogCollectorOptions,
} from "../../src/logs/index.ts";
import { FakeNative } from "./fake-native.ts";
import { makeLogs, pause, recorder, until } from "./helpers.ts";

let logs: ReturnType<typeof makeLogs>;
let logger: ReturnType<typeof recorder>;
let collector: LogCollector;
let native: FakeNative;
const writers: number[] = [];

beforeEach(() => {
  logs = makeLogs();
  logger = recorder();
  native = new FakeNative(logs.root);
});
afterEach(async () => {
  for (const fd of writers.splice(0)) closeSync(fd);
  await collector?.[Symbol.asyncDispose]();
  logs.remove();
});

/** How many descriptors of this process lead to the logs or are pipes: those that a collector opens. Others come and go with the test runner. */
const descriptors = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(logs.root) || target.startsWith("pipe:");
    } catch {
      return false;
    }
  }).length;

const request = (more: Partial<CollectRequest> = {}): CollectRequest => ({
  key: "a/w",
  logDir: logs.dir,
  taskName: "w",
  stdoutFifo: join(logs.dir, ".w.stdout.fifo"),
  stderrFifo: join(logs.dir, ".w.stderr.fifo"),
  maxFiles: 4,
  maxFileSizeMb: 1,
  ...more,
});

const writer = (kind = "stdout"): number => {
  const fd = openSync(join(logs.dir, `.w.${kind}.fifo`), constants.O_WRONLY | constants.O_NONBLOCK);
  writers.push(fd);
  return fd;
};

/** Writes all, however often the pipe is full. */
async function feed(fd: number, text: string): Promise<void> {
  let rest = Buffer.from(text, "latin1");
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch {
      await pause(1);
    }
  }
}

const make = (options: LogCollectorOptions = {}): LogCollector =>
  (collector = createLogCollector({ logger, ...options }));

describe.each(["native", "copy"])("a collector with %s io", (mode) => {
  const start = (options: LogCollectorOptions = {}): LogCollector =>
    make({ ...(mode === "native" ? { native } : {}), ...options });

  it("makes private fifos and moves both streams into files", async () => {
    const c = start();
    await c.start(request());
    const fifo = lstatSync(join(logs.dir, ".w.stdout.fifo"));
    expect([fifo.isFIFO(), fifo.mode & 0o777]).toEqual([true, 0o600]);
    writeSync(writer(), "out\n");
    writeSync(writer("stderr"), "err\n");
    await until(() => logs.text("w.stdout") === "out\n" && logs.text("w.stderr") === "err\n");
    expect(c.streams.map(({ fileBytes }) => fileBytes)).toEqual([4, 4]);
    expect(c.requests).toHaveLength(1);
  });

  it("loses nothing and ends files at line ends when they are full", async () => {
    const c = start();
    await c.start(request());
    let text = "";
    for (let i = 0; text.length < 2_600_000; i++) text += `${i} ${"x".repeat(i % 200)}\n`;
    await feed(writer(), text);
    expect(await c.drain([request().stdoutFifo])).toBe(true);
    expect(logs.text("w.stdout") === text).toBe(true);
    const files = logs.files("w.stdout");
    expect(files).toHaveLength(3);
    for (const [, content] of files) expect(content.length <= 1024 * 1024 && content.endsWith("\n")).toBe(true);
  });

  it("goes on after all writers left, and after a restart of its own", async () => {
    let c = start();
    await c.start(request());
    for (const word of ["one\n", "two\n"]) {
      const fd = openSync(join(logs.dir, ".w.stdout.fifo"), constants.O_WRONLY);
      writeSync(fd, word);
      closeSync(fd);
      await until(() => logs.text("w.stdout").endsWith(word));
    }
    const held = writer();
    await c.stop("a/w");
    await c.stop("a/w");
    c = start();
    await c.start(request());
    writeSync(held, "three\n");
    await until(() => logs.text("w.stdout") === "one\ntwo\nthree\n");
    expect(logs.files("w.stdout")).toHaveLength(1);
  });

  it("starts twice without a second reader, takes over new limits, and mends a fifo that was removed", async () => {
    const c = start();
    await Promise.all([c.start(request()), c.start(request())]);
    expect(c.streams).toHaveLength(2);
    const before = descriptors();
    await c.start(request({ maxFiles: 2 }));
    expect(c.requests[0]?.maxFiles).toBe(2);
    expect(descriptors()).toBe(before);
    unlinkSync(join(logs.dir, ".w.stdout.fifo"));
    await c.start(request());
    expect(descriptors()).toBe(before);
    writeSync(writer(), "mended\n");
    await until(() => logs.text("w.stdout") === "mended\n");
    await expect(c.start(request({ taskName: "v" }))).rejects.toMatchObject({ code: "ERR_OUTRIDER_LOGS_BUSY" });
  });

  it("replaces whatever sits on the name of a fifo", async () => {
    writeFileSync(join(logs.root, "victim"), "");
    symlinkSync(join(logs.root, "victim"), join(logs.dir, ".w.stdout.fifo"));
    mkdirSync(join(logs.dir, ".w.stderr.fifo", "inner"), { recursive: true });
    await start().start(request());
    expect(lstatSync(join(logs.dir, ".w.stdout.fifo")).isFIFO()).toBe(true);
    expect(lstatSync(join(logs.dir, ".w.stderr.fifo")).isFIFO()).toBe(true);
    expect(readdirSync(logs.dir).some((name) => name.endsWith(".aside"))).toBe(true);
    expect(existsSync(join(logs.root, "victim"))).toBe(true);
  });

  it("gives the descriptor of an open fifo, and none for others", async () => {
    const c = start();
    await c.start(request());
    const fd = c.descriptor(request().stdoutFifo) as number;
    const end = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY);
    writeSync(end, "through\n");
    closeSync(end);
    await until(() => logs.text("w.stdout") === "through\n");
    expect(c.descriptor("/nowhere")).toBeUndefined();
    expect(await c.drain(["/nowhere"])).toBe(true);
  });

  it("opens nothing when one of the two streams cannot be opened", async () => {
    const c = start();
    const before = descriptors();
    symlinkSync("/nowhere", join(logs.dir, "w.stderr.0"));
    for (let i = 1; i < 1_001; i++) mkdirSync(join(logs.dir, `w.stderr.${i}`));
    await expect(c.start(request())).rejects.toThrow("no free number");
    expect(descriptors()).toBe(before);
    expect(c.streams).toEqual([]);
  });

  it("gives every stream its turn beside a loud one", async () => {
    const c = start();
    await c.start(request({ maxFiles: 2 }));
    let loud = true;
    const shouting = (async () => {
      const fd = writer();
      while (loud) await feed(fd, "x".repeat(65_536));
    })();
    await pause(20);
    writeSync(writer("stderr"), "quiet\n");
    await until(() => logs.text("w.stderr") === "quiet\n");
    loud = false;
    await shouting;
  });
});

/** Ends a collector whose clock stands still. */
async function end(clock: ManualClock): Promise<void> {
  native.failure = undefined;
  let done = false;
  const ending = collector[Symbol.asyncDispose]().then(() => (done = true));
  while (!done) {
    await clock.advance(100);
    await pause(1);
  }
  await ending;
}

describe("a collector in trouble", () => {
  it("holds the task back while the disk is full, loses nothing, and goes on by itself", async () => {
    const clock = new ManualClock();
    const c = make({ native, clock });
    await c.start(request());
    native.failure = "ENOSPC";
    writeSync(writer(), "waits\n");
    await until(() => logger.lines.some((line) => line.includes("cannot be written")));
    expect(logs.text("w.stdout")).toBe("");
    native.failure = undefined;
    await clock.advance(100);
    await until(() => logs.text("w.stdout") === "waits\n");
    expect(logger.lines.at(-1)).toContain("can be written again");
  });

  it("drops after the grace, so that a full disk stops no task for ever", async () => {
    const clock = new ManualClock();
    const c = make({ native, clock });
    await c.start(request());
    native.failure = "ENOSPC";
    const fd = writer();
    writeSync(fd, "lost\n");
    await until(() => logger.lines.length > 0);
    for (let i = 0; i < 40; i++) {
      await clock.advance(500);
      await pause(1);
    }
    await feed(fd, "x".repeat(300_000));
    await until(() => (c.streams[0]?.droppedBytes ?? 0) >= 300_000);
    await end(clock);
  });

  it("ends a drain when its time is over, and says so", async () => {
    const clock = new ManualClock();
    const c = make({ native, clock });
    await c.start(request());
    native.failure = "ENOSPC";
    writeSync(writer(), "stays\n");
    const drained = c.drain([request().stdoutFifo], 1_000);
    for (let i = 0; i < 30; i++) {
      await clock.advance(100);
      await pause(1);
    }
    expect(await drained).toBe(false);
    await end(clock);
    expect(logs.text("w.stdout")).toBe("stays\n");
  });
});

describe("bad requests", () => {
  it.each([
    [{ logDir: "relative" }, "logDir"],
    [{ stdoutFifo: "/elsewhere/x" }, "stdoutFifo"],
    [{ stderrFifo: "/elsewhere/x" }, "stderrFifo"],
    [{ maxFiles: 0 }, "maxFiles"],
    [{ maxFileSizeMb: 1.5 }, "maxFileSizeMb"],
  ])("are refused by field: %j", async (more, field) => {
    await expect(make().start(request(more as Partial<CollectRequest>))).rejects.toMatchObject({
      code: "ERR_OUTRIDER_LOGS_REQUEST",
      details: { field },
    });
  });

  it("are refused for names that are paths, for one fifo twice, and for folders that are links or missing", async () => {
    const c = make();
    await expect(c.start(request({ taskName: "../w" }))).rejects.toMatchObject({ code: "ERR_OUTRIDER_LOGS_NAME" });
    await expect(c.start(request({ stderrFifo: request().stdoutFifo }))).rejects.toMatchObject({
      details: { field: "stderrFifo" },
    });
    const gone = join(logs.root, "none", "logs");
    await expect(
      c.start(request({ logDir: gone, stdoutFifo: join(gone, "o"), stderrFifo: join(gone, "e") })),
    ).rejects.toThrow("ENOENT");
  });
});
