import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogFolder } from "../../src/logs/log-folder.ts";
import { PartialWriteError, RotatingLog, type RotatingLogOptions } from "../../src/logs/rotating-log.ts";
import { makeLogs, recorder } from "./helpers.ts";

let logs: ReturnType<typeof makeLogs>;
let logger: ReturnType<typeof recorder>;
const open: RotatingLog[] = [];

beforeEach(() => {
  logs = makeLogs();
  logger = recorder();
});
afterEach(() => {
  for (const log of open.splice(0)) log.close();
  logs.remove();
});

function make(more: Partial<RotatingLogOptions> = {}): RotatingLog {
  const log = new RotatingLog({ folder: logs.folder, name: "w.stdout", logger, maxFiles: 10, maxBytes: 5, ...more });
  open.push(log);
  return log;
}

const write = (log: RotatingLog, text: string): void => log.write(Buffer.from(text, "latin1"));
const names = (): string[] => logs.files("w.stdout").map(([name]) => name);

describe("a rotated log", () => {
  it("begins with 0, goes on with the highest file, and counts what is in it", () => {
    write(make(), "abcd");
    expect(logs.files("w.stdout")).toEqual([["w.stdout.0", "abcd"]]);
    writeFileSync(join(logs.dir, "w.stdout.7"), "abcd");
    writeFileSync(join(logs.dir, "w.stdout.x"), "");
    writeFileSync(join(logs.dir, "w.stdout.08"), "");
    const next = make();
    expect([next.index, next.size]).toEqual([7, 4]);
    write(next, "efghijkl");
    expect(
      logs
        .files("w.stdout")
        .filter(([, text]) => text !== "")
        .map(([, text]) => text),
    ).toEqual(["abcd", "abcde", "fghij", "kl"]);
  });

  it("keeps the newest files and touches no name but its own", () => {
    for (const name of ["w.stdout.1.old", "w.stderr.0", "ww.stdout.0", "wxstdout.0"])
      writeFileSync(join(logs.dir, name), "keep");
    mkdirSync(join(logs.dir, "w.stdout.2"));
    const log = make({ maxFiles: 2 });
    write(log, "12345".repeat(6));
    expect(names()).toEqual(["w.stdout.1.old", "w.stdout.5", "w.stdout.6"]);
    expect(readdirSync(logs.dir)).toEqual(
      expect.arrayContaining(["w.stdout.2", "w.stderr.0", "ww.stdout.0", "wxstdout.0"]),
    );
    log.setLimits({ maxFiles: 1, maxBytes: 100 });
    expect(names()).toEqual(["w.stdout.1.old", "w.stdout.6"]);
    write(log, "y".repeat(90));
    expect(log.size).toBe(95);
  });

  it("passes over names that are no plain files of their own, and says so", () => {
    writeFileSync(join(logs.root, "victim"), "host");
    symlinkSync(join(logs.root, "victim"), join(logs.dir, "w.stdout.1"));
    linkSync(join(logs.root, "victim"), join(logs.dir, "w.stdout.2"));
    mkdirSync(join(logs.dir, "w.stdout.3"));
    writeFileSync(join(logs.dir, "w.stdout.4"), "full!");
    writeFileSync(join(logs.dir, "w.stdout.5"), "abc");
    unlinkSync(join(logs.dir, "w.stdout.5"));
    const log = make({ name: "v.stdout" });
    write(log, "12345");
    symlinkSync(join(logs.root, "victim"), join(logs.dir, "v.stdout.1"));
    linkSync(join(logs.root, "victim"), join(logs.dir, "v.stdout.2"));
    mkdirSync(join(logs.dir, "v.stdout.3"));
    writeFileSync(join(logs.dir, "v.stdout.4"), "full!");
    writeFileSync(join(logs.dir, "v.stdout.5"), "ab\n");
    write(log, "6\n");
    expect(log.index).toBe(5);
    expect(readFileSync(join(logs.root, "victim"), "utf8")).toBe("host");
    expect(logger.lines.filter((line) => line.startsWith("warn"))).toHaveLength(3);
    expect(readFileSync(join(logs.dir, "v.stdout.5"), "utf8")).toBe("ab\n6\n");
  });

  it("notices a file that was deleted, moved, cut or added to", () => {
    const log = make({ maxBytes: 100 });
    write(log, "one\n");
    expect(log.check()).toBe(false);
    unlinkSync(join(logs.dir, "w.stdout.0"));
    expect(log.check()).toBe(true);
    write(log, "two\n");
    renameSync(join(logs.dir, "w.stdout.0"), join(logs.dir, "moved"));
    expect(log.check()).toBe(true);
    write(log, "three\n");
    expect(logs.text("w.stdout")).toBe("three\n");
    expect(readFileSync(join(logs.dir, "moved"), "utf8")).toBe("two\n");
    truncateSync(join(logs.dir, "w.stdout.0"), 0);
    expect(log.check()).toBe(true);
    write(log, "four\n");
    expect(logs.text("w.stdout")).toBe("four\n");
    renameSync(join(logs.dir, "moved"), join(logs.dir, "w.stdout.0"));
    expect(log.check()).toBe(true);
    expect(log.size).toBe(4);
  });

  it("knows after a restart where the last line began", () => {
    const big = 200 * 1024;
    write(make({ maxBytes: big }), `${"x".repeat(big - 40_000)}\n${"y".repeat(30_000)}`);
    const log = make({ maxBytes: big });
    const before = log.size;
    const rest = Buffer.from(`${"y".repeat(2_000)}\nnext line that is longer ${"z".repeat(9_000)}`);
    // the open line began early enough: it stays whole, the next one does not begin here
    expect(log.take(rest)).toBe(2_001);
    log.advance(2_001, rest);
    expect(log.size).toBe(before + 2_001);
    expect(log.take(rest.subarray(2_001))).toBe(0);
    log.advance(0);
  });

  it("looks at nothing while there is room for a whole line", () => {
    const log = make({ maxBytes: 1024 * 1024 });
    expect(log.blindRoom).toBe(1024 * 1024 - 32 * 1024);
    expect(log.take(Buffer.alloc(2 * 1024 * 1024))).toBe(log.blindRoom);
    expect(log.take(Buffer.alloc(10))).toBe(10);
  });

  it("tells how much of a failed write is in the file", () => {
    const log = make();
    write(log, "1234");
    logs.remove();
    const failure = (() => {
      try {
        write(log, "567890");
      } catch (reason) {
        return reason as PartialWriteError;
      }
      return undefined;
    })();
    expect(failure).toBeInstanceOf(PartialWriteError);
    expect(failure?.written).toBe(1);
    expect(failure?.code).toMatch(/ENOENT|EBADF/);
    logs = makeLogs();
  });

  it("gives up when all numbers are taken", () => {
    const log = make();
    write(log, "12345");
    for (let i = 1; i <= 1_001; i++) writeFileSync(join(logs.dir, `w.stdout.${i}`), "full!");
    expect(() => log.rotate()).toThrow("no free number for w.stdout from 1 on");
  });
});

describe("a log folder", () => {
  it("is opened without following links below the root, and takes plain names only", () => {
    symlinkSync(logs.dir, join(logs.root, "alloc", "elsewhere"));
    expect(() => new LogFolder(logs.root, ["alloc", "elsewhere"])).toThrow(/ELOOP|ENOTDIR/);
    for (const name of ["", ".", "..", "a/b", "a\0b"]) {
      expect(() => logs.folder.at(name)).toThrow(expect.objectContaining({ code: "ERR_OUTRIDER_LOGS_NAME" }));
    }
    expect(logs.folder.atForChild("x")).toBe(logs.folder.at("x").replace("self", String(process.pid)));
    logs.folder.close();
    logs.folder.close();
  });
});
