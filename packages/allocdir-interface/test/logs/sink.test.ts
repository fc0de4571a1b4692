import { ManualClock } from "@outrider/backoff/testing";
import { unlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CopyPump } from "../../src/logs/copy-stream.ts";
import { RotatingLog } from "../../src/logs/rotating-log.ts";
import { DISK_TROUBLE_GRACE_MS, LogSink } from "../../src/logs/sink.ts";
import { makeLogs, recorder } from "./helpers.ts";

let logs: ReturnType<typeof makeLogs>;
let logger: ReturnType<typeof recorder>;
let clock: ManualClock;
let log: RotatingLog;
let sink: LogSink;
const full = Object.assign(new Error("no space"), { code: "ENOSPC" });

beforeEach(() => {
  logs = makeLogs();
  logger = recorder();
  clock = new ManualClock();
  log = new RotatingLog({ folder: logs.folder, name: "w.stdout", logger, maxFiles: 3, maxBytes: 1024 * 1024 });
  sink = new LogSink(log, clock, logger);
});
afterEach(() => {
  log.close();
  logs.remove();
});

describe("a sink on a disk that refuses", () => {
  it("first holds the task back, then drops and counts, then tells of the loss in one line", async () => {
    expect(sink.prepare()).toBe("open");
    sink.failed(full);
    expect(sink.prepare()).toBe("paused");
    expect(sink.retryInMs).toBe(100);
    await clock.advance(100);
    expect(sink.prepare()).toBe("open");
    sink.failed(full);
    await clock.advance(DISK_TROUBLE_GRACE_MS);
    expect(sink.prepare()).toBe("open");
    sink.failed(full);
    expect(sink.prepare()).toBe("dropping");
    sink.drop(70);
    sink.drop(7);
    await clock.advance(2_000);
    log.write(Buffer.from("again\n"));
    sink.succeeded();
    expect(sink.prepare()).toBe("open");
    expect(sink.dropped).toBe(77);
    expect(logs.text("w.stdout")).toBe("again\n[outrider: 77 bytes of output were lost here: the disk refused them]\n");
    expect(logger.lines).toEqual([
      "warn log file cannot be written; the task's output waits",
      "info log file can be written again",
    ]);
    sink.succeeded();
    expect(logger.lines).toHaveLength(2);
  });

  it("loses nothing in a short trouble, and calls other failures by their level", () => {
    sink.failed(new Error("odd"));
    sink.succeeded();
    expect(logs.text("w.stdout")).toBe("");
    expect(logger.lines[0]).toMatch(/^error/);
  });

  it("stays in trouble when even the line about the loss is refused", () => {
    sink.failed(full);
    sink.drop(5);
    const write = log.write.bind(log);
    log.write = () => {
      throw full;
    };
    sink.succeeded();
    expect(sink.prepare()).toBe("paused");
    log.write = write;
    sink.succeeded();
    expect(sink.prepare()).toBe("open");
  });

  it("looks once a second for a file that somebody removed", async () => {
    log.write(Buffer.from("one\n"));
    unlinkSync(join(logs.dir, "w.stdout.0"));
    expect(sink.prepare()).toBe("open");
    expect(logs.text("w.stdout")).toBe("");
    await clock.advance(1_000);
    expect(sink.prepare()).toBe("open");
    log.write(Buffer.from("two\n"));
    expect(logs.text("w.stdout")).toBe("two\n");
    const check = log.check.bind(log);
    log.check = () => {
      throw full;
    };
    await clock.advance(1_000);
    expect(sink.prepare()).toBe("paused");
    log.check = check;
  });
});

describe("copying into a sink", () => {
  it("keeps what the disk refused and writes it later, in order", async () => {
    const pump = new CopyPump(sink);
    const write = log.write.bind(log);
    log.write = () => {
      throw full;
    };
    expect(pump.push(Buffer.from("one\n"))).toBe("paused");
    expect(pump.push(Buffer.from("two\n"))).toBe("paused");
    expect(pump.once(-1)).toBe("paused");
    await clock.advance(100);
    log.write = write;
    expect(pump.once(-1)).toBe("more");
    expect(logs.text("w.stdout")).toBe("one\ntwo\n");
  });

  it("drops what it kept once the grace is over", async () => {
    const pump = new CopyPump(sink);
    const write = log.write.bind(log);
    log.write = () => {
      throw full;
    };
    pump.push(Buffer.from("kept"));
    await clock.advance(DISK_TROUBLE_GRACE_MS);
    expect(pump.once(-1)).toBe("more");
    expect(pump.once(-1)).toBe("more");
    expect(sink.dropped).toBe(4);
    log.write = write;
  });
});
