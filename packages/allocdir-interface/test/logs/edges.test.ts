import { ManualClock } from "@outrider/backoff/testing";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CopyPump } from "../../src/logs/copy-stream.ts";
import { errnoOf, isDiskTrouble } from "../../src/logs/errors.ts";
import { ensureFifo, isSameFifo, openFifo } from "../../src/logs/fifo.ts";
import { LogStream } from "../../src/logs/log-stream.ts";
import { PartialWriteError, RotatingLog } from "../../src/logs/rotating-log.ts";
import { DISK_TROUBLE_GRACE_MS, LogSink } from "../../src/logs/sink.ts";
import { dropOnce, PeekPipe, spliceOnce } from "../../src/logs/splice-stream.ts";
import { TurnQueue } from "../../src/logs/turn-queue.ts";
import { FakeNative } from "./fake-native.ts";
import { makeLogs, pause, recorder, until } from "./helpers.ts";

let logs: ReturnType<typeof makeLogs>;
let clock: ManualClock;
let sink: LogSink;
let fd: number;
const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
const logger = recorder();

beforeEach(() => {
  logs = makeLogs();
  clock = new ManualClock();
  const log = new RotatingLog({ folder: logs.folder, name: "w.stdout", logger, maxFiles: 3, maxBytes: 1024 * 1024 });
  sink = new LogSink(log, clock, logger);
  execFileSync("mkfifo", [join(logs.dir, "f")]);
  fd = openSync(join(logs.dir, "f"), constants.O_RDWR | constants.O_NONBLOCK);
});
afterEach(() => logs.remove());

describe("copying without native help", () => {
  it("drops straight from the pipe while the disk refuses for long", async () => {
    const pump = new CopyPump(sink);
    expect(pump.once(fd)).toBe("empty");
    sink.failed(full);
    expect(pump.once(fd)).toBe("paused");
    await clock.advance(DISK_TROUBLE_GRACE_MS);
    sink.failed(full);
    writeSync(fd, "gone");
    expect(pump.once(fd)).toBe("more");
    expect(pump.once(fd)).toBe("empty");
    expect(sink.dropped).toBe(4);
    closeSync(fd);
    expect(() => pump.once(fd)).toThrow("EBADF");
    await clock.advance(1_000);
    expect(() => pump.once(fd)).toThrow("EBADF");
    sink.log.close();
  });

  it("waits for the disk by the clock, and drains what it kept", async () => {
    const stream = new LogStream({ fd, sink, clock, turns: new TurnQueue((item: LogStream) => item.turn()) });
    const write = sink.log.write.bind(sink.log);
    sink.log.write = () => {
      throw full;
    };
    writeSync(fd, "kept\n");
    await until(() => clock.pending.length > 0);
    stream.turn();
    expect(clock.pending).toHaveLength(1);
    sink.log.write = write;
    const drained = stream.drain(clock.monotonic() + 1_000);
    for (let i = 0; i < 5; i++) {
      await clock.advance(100);
      await pause(1);
    }
    expect(await drained).toBe(true);
    expect(logs.text("w.stdout")).toBe("kept\n");
    sink.failed(full);
    stream.turn();
    stream.close();
    stream.close();
    stream.turn();
    expect(clock.pending).toHaveLength(0);
    expect(await stream.drain(0)).toBe(true);
  });
});

describe("what a log could not take at once", () => {
  it("is written from where the disk stopped, once it takes more", async () => {
    const pump = new CopyPump(sink);
    const write = sink.log.write.bind(sink.log);
    sink.log.write = (piece) => {
      write(piece.subarray(0, 2));
      throw new PartialWriteError(2, full);
    };
    expect(pump.push(Buffer.from("abcdef"))).toBe("paused");
    sink.log.write = write;
    await clock.advance(sink.retryInMs);
    expect(pump.once(fd)).toBe("more");
    expect(logs.text("w.stdout")).toBe("abcdef");
    expect(new PartialWriteError(1, "odd").message).toBe("odd");
    closeSync(fd);
    sink.log.close();
  });

  it("is moved in many turns when the pipe holds more than one turn takes", async () => {
    const drained: string[] = [];
    const stream = new LogStream({ fd, sink, clock, turns: new TurnQueue((item: LogStream) => item.turn()) });
    const write = sink.log.write.bind(sink.log);
    let refill = 40;
    sink.log.write = (piece) => {
      write(piece);
      if (refill-- > 0) writeSync(fd, `line ${refill}\n`);
    };
    writeSync(fd, "first\n");
    expect(await stream.drain(clock.monotonic() + 1_000)).toBe(true);
    drained.push(...logs.text("w.stdout").trim().split("\n"));
    expect(drained).toHaveLength(41);
    stream.close();
  });
});

describe("moving inside the kernel", () => {
  it("looks at the front of the pipe near the end of a file, and waits when nothing is there", () => {
    const native = new FakeNative(logs.root);
    const peek = new PeekPipe(native);
    sink.log.write(Buffer.from(`${"x".repeat(99)}\n`.repeat(10_300)));
    expect(sink.log.blindRoom).toBe(0);
    expect(spliceOnce(native, peek, fd, sink)).toBe("empty");
    writeSync(fd, `${"y".repeat(29_000)}\nrest`);
    expect(spliceOnce(native, peek, fd, sink)).toBe("more");
    expect(spliceOnce(native, peek, fd, sink)).toBe("more");
    expect(sink.log.index).toBe(1);
    expect(spliceOnce(native, peek, fd, sink)).toBe("empty");
    expect(logs.files("w.stdout").map(([, text]) => text.length)).toEqual([1_030_000, 29_005]);
    peek.close();
    closeSync(fd);
    sink.log.close();
  });
});

describe("fifos", () => {
  it("are opened only when they are fifos", async () => {
    writeFileSync(join(logs.dir, "plain"), "");
    expect(() => openFifo(logs.folder, "plain")).toThrow(expect.objectContaining({ code: "ERR_OUTRIDER_LOGS_FIFO" }));
    expect(isSameFifo(logs.folder, "plain", fd)).toBe(false);
    expect(isSameFifo(logs.folder, "none", fd)).toBe(false);
    expect(isSameFifo(logs.folder, "f", fd)).toBe(true);
    await ensureFifo(logs.folder, "f");
    expect(isSameFifo(logs.folder, "f", fd)).toBe(true);
    closeSync(fd);
    expect(() => dropOnce(fd, sink)).toThrow("EBADF");
    sink.log.close();
  });
});

/** Lets the event loop go round. */
const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("turns", () => {
  it("go round in order, skip what was removed, and do nothing when all was removed", async () => {
    const seen: string[] = [];
    const queue = new TurnQueue<string>((item) => seen.push(item));
    for (const item of ["a", "b", "a", "c"]) queue.add(item);
    queue.remove("b");
    await turns(8);
    expect(seen).toEqual(["a", "c"]);
    queue.add("d");
    queue.remove("d");
    await turns(8);
    expect(seen).toEqual(["a", "c"]);
    closeSync(fd);
    sink.log.close();
  });
});

describe("system errors", () => {
  it("are told apart by code", () => {
    expect(isDiskTrouble(full)).toBe(true);
    expect(isDiskTrouble(new Error("x"))).toBe(false);
    expect(errnoOf(undefined)).toBe("");
    expect(errnoOf({ code: 5 })).toBe("");
  });
});
