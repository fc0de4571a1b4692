import { PassThrough, Readable, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { ManualClock } from "@outrider/backoff/testing";
import type { MoveSource } from "../../src/index.ts";
import { createMemoryAllocDir, type MemoryAllocDir } from "../../src/memory/index.ts";
import { readMemoryArchive } from "../../src/memory/memory-archive.ts";
import { encodeHeader } from "../../src/migrate/tar-format.ts";
import { ALLOC_ID, tempAlloc } from "../temp-alloc.ts";

const code = (reason: string): object => expect.objectContaining({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` }) as object;

async function built(): Promise<MemoryAllocDir> {
  const alloc = createMemoryAllocDir({ allocId: ALLOC_ID, clock: new ManualClock() });
  await alloc.build();
  await alloc.newTaskDir({ name: "web" }).build({ isolation: "none" });
  return alloc;
}

describe("what tasks do to files in memory", () => {
  it("fails as on a disk", async () => {
    const { files } = await built();
    files.write("web/local/f", "x");
    files.mkfifo("web/local/fifo");
    files.mkdir("web/local/d/e");
    files.mkdir("web/local/d");
    for (const [act, reason] of [
      [() => files.mkdir("web/local/f/x"), "NOT_DIRECTORY"],
      [() => files.write("web/local/f/x", ""), "NOT_DIRECTORY"],
      [() => files.write("web/local/d", ""), "IS_DIRECTORY"],
      [() => files.write("web/nothing/f", ""), "NOT_FOUND"],
      [() => files.symlink("x", "web/.."), "IO"],
      [() => files.append("web/local/fifo", "x"), "IO"],
      [() => files.openFifo("web/local/f"), "IO"],
      [() => files.symlink("x", "web/local/f"), "IO"],
      [() => files.symlink("x", "web/local/f/x"), "NOT_DIRECTORY"],
      [() => files.link("web/local/d", "web/local/l"), "IO"],
      [() => files.rename("web/local/f", "web/local/d"), "IO"],
      [() => files.rename("web/local/d", "web/local/d/e/inside"), "IO"],
      [() => files.chmod("web/local/none", 0o600), "NOT_FOUND"],
    ] as const)
      expect(act).toThrow(code(reason));
    files.rename("web/local/f", "web/local/f");
    files.rename("web/local/d", "web/local/moved");
    files.mkdir("web/local/empty");
    files.rename("web/local/moved", "web/local/empty");
    expect(files.exists("web/local/empty/e")).toBe(true);
    expect([files.read("web/local/empty"), files.read("web/local/none")]).toEqual([undefined, undefined]);
    files.chown("web/local/f", 7, 8);
    expect(files.owner("web/local/f")).toEqual({ uid: 7, gid: 8 });
  });

  it("grows, is cut and filled up", async () => {
    const { files } = await built();
    files.append("web/local/f", "ab");
    files.append("web/local/f", "cd");
    files.truncate("web/local/f", 3);
    files.truncate("web/local/f", 5);
    expect(files.read("web/local/f")).toBe("abc\0\0");
  });

  it("ends where the disk is full or read-only, and nothing is half done", async () => {
    const { files } = await built();
    files.write("web/local/f", "12345");
    files.limits = { maxBytes: 8 };
    expect(() => files.write("web/local/g", "1234")).toThrow(code("NO_SPACE"));
    expect(() => files.truncate("web/local/f", 9)).toThrow(code("NO_SPACE"));
    files.write("web/local/f", "12345678");
    files.limits = {};
    files.readOnly = true;
    expect(() => files.append("web/local/f", "x")).toThrow(code("READ_ONLY"));
    expect(() => files.remove("web/local/f")).toThrow(code("READ_ONLY"));
    expect(files.read("web/local/f")).toBe("12345678");
  });

  it("has the clock's time", async () => {
    const clock = new ManualClock();
    await clock.advance(1_000);
    const alloc = createMemoryAllocDir({ allocId: ALLOC_ID, clock });
    await alloc.build();
    expect((await alloc.stat("/")).ModTime).toBe(new Date(clock.now()).toISOString().replace(".000", ""));
    await expect(alloc.newTaskDir({ name: "web" }).build({ isolation: "chroot" })).rejects.toThrow(
      code("UNSUPPORTED_ISOLATION"),
    );
    alloc.files.limits = { maxEntries: 7 };
    await expect(alloc.newTaskDir({ name: "web" }).build({ isolation: "none" })).rejects.toThrow(code("NO_SPACE"));
    expect(alloc.files.exists("web")).toBe(false);
  });
});

describe("archives of files in memory", () => {
  it("break off when their reader goes away", async () => {
    const alloc = await built();
    alloc.files.write("alloc/data/f", "x".repeat(100_000));
    const out = new Writable({
      highWaterMark: 1,
      write(_chunk, _encoding, done) {
        done(new Error("the reader went away"));
      },
    });
    await expect(alloc.snapshot(out)).rejects.toThrow("the reader went away");
    expect(out.destroyed).toBe(true);
  });

  it("leave out what is no folder in place of a root, and say so", async () => {
    const alloc = await built();
    alloc.files.remove("web/local");
    alloc.files.mkfifo("web/local");
    alloc.files.remove("alloc/data");
    alloc.files.write("alloc/data", "a file");
    const out = new PassThrough();
    out.resume();
    expect(await alloc.snapshot(out)).toMatchObject({
      entries: 0,
      skippedPaths: [
        { path: "alloc/data", reason: "link" },
        { path: "web/local", reason: "fifo" },
      ],
    });
  });

  it("of others are refused when they break off or are out of order", async () => {
    const header = (name: string, type: "file" | "directory"): Buffer =>
      encodeHeader({ name, type, mode: 0o755, uid: 0, gid: 0, uname: "", gname: "", size: 0, mtime: 0, linkname: "" });
    const read = (...parts: Buffer[]): Promise<unknown> =>
      readMemoryArchive(Readable.from([Buffer.concat(parts)]), new Set(["alloc/data"]));
    await expect(read(header("alloc/data", "directory"))).rejects.toThrow(code("ARCHIVE_TRUNCATED"));
    await expect(read(header("alloc/data/f", "file"), Buffer.alloc(1024))).rejects.toThrow(code("ARCHIVE_FORMAT"));
    await expect(read(header("alloc/data", "directory"), Buffer.alloc(1024))).resolves.toHaveProperty("size", 1);
  });
});

describe("moving into memory", () => {
  it("tells what the other's archive left out, of what was wanted alone", async () => {
    await using t = await tempAlloc({ tasks: ["web", "old"] });
    const { execFileSync } = await import("node:child_process");
    for (const task of ["web", "old"]) execFileSync("mkfifo", [`${t.alloc.allocDirPath}/${task}/local/fifo`]);
    const alloc = await built();
    expect(await alloc.move(t.alloc, ["web"])).toEqual({
      moved: ["alloc/data", "web/local"],
      skipped: [{ path: "web/local/fifo", reason: "fifo" }],
    });
  });

  it("takes over what has no place there yet", async () => {
    const [alloc, other] = [await built(), await built()];
    other.files.write("web/local/f", "x");
    alloc.files.remove("web");
    expect(await alloc.move(other, ["web"])).toEqual({ moved: ["alloc/data", "web/local"], skipped: [] });
    expect(alloc.files.read("web/local/f")).toBe("x");
  });

  it("fails with the other's archive, and keeps what it has", async () => {
    const alloc = await built();
    const broken = (snapshot: MoveSource["snapshot"]): MoveSource => ({
      onDisk: false,
      allocDirPath: "",
      shareDirPath: "",
      getTaskDir: () => undefined,
      snapshot,
    });
    const failing = broken((out) => {
      out.destroy(new Error("broken"));
      return Promise.reject(new Error("broken"));
    });
    await expect(alloc.move(failing, ["web"])).rejects.toThrow("broken");
    const short = broken((out) => {
      out.end();
      return Promise.resolve({ entries: 0, bytes: 0, skipped: 0, skippedPaths: [] });
    });
    await expect(alloc.move(short, ["web"], { signal: new AbortController().signal })).rejects.toThrow(
      code("ARCHIVE_TRUNCATED"),
    );
    expect((await alloc.list("web")).map((entry) => entry.Name)).toEqual(["local", "private", "secrets", "tmp"]);
  });
});
