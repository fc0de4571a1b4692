import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { FolderSink } from "../../src/migrate/folder-sink.ts";
import { stageArchive, type StageOptions } from "../../src/migrate/index.ts";
import { unpackArchive, type UnpackSink } from "../../src/migrate/unpack.ts";
import { ALLOC_ID } from "../temp-alloc.ts";
import { checksummed, pax, pieces, rawDir, rawFile, rawHeader, rawLink, TRAILER } from "./archives.ts";

const root = mkdtempSync(join(tmpdir(), "outrider-unpack-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeEach(() => {
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true });
});

const stage = (parts: readonly Buffer[], o: Partial<StageOptions> = {}): ReturnType<typeof stageArchive> =>
  stageArchive(pieces([...parts, TRAILER]), { root, allocId: ALLOC_ID, tasks: ["web"], owners: false, ...o });

const code = (reason: string): object => ({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` });

/** Refused, with nothing left of it. */
async function refused(parts: readonly Buffer[], reason: string, o: Partial<StageOptions> = {}): Promise<void> {
  await expect(stage(parts, o)).rejects.toMatchObject(code(reason));
  expect(readdirSync(root)).toEqual([]);
}

describe("unpacking an archive", () => {
  it("makes directories, files and links with their modes and times, and deletes them with the staged disk", async () => {
    const disk = await stage([
      rawDir("alloc/data"),
      rawFile("alloc/data/f", "data", { mode: 0o4755 }),
      rawDir("web/local/"),
      rawDir("web/local/closed", 0o2500),
      rawFile("web/local/closed/inner", "inner", { mode: 0o640 }),
      rawLink("web/local/link", "closed/inner"),
      rawLink("web/local/dangling", "../../alloc/data/none"),
      rawFile("web/local/deep/er/f", "made"),
      pax({ path: `web/local/${"ü".repeat(80)}`, mtime: "1600000000.5", comment: "none" }),
      rawFile("short", "pax"),
      rawHeader({ name: "old", flag: "\0", prefix: "web/local", size: 0 }),
    ]);
    const at = (path: string): string => join(disk.allocDirPath, path);
    expect([readFileSync(at("alloc/data/f"), "utf8"), statSync(at("alloc/data/f")).mode & 0o7777]).toEqual([
      "data",
      0o755,
    ]);
    expect([
      statSync(at("web/local/closed")).mode & 0o7777,
      readFileSync(at("web/local/closed/inner"), "utf8"),
    ]).toEqual([0o500, "inner"]);
    expect(readlinkSync(at("web/local/link"))).toBe("closed/inner");
    expect(lstatSync(at("web/local/dangling")).isSymbolicLink()).toBe(true);
    expect(readFileSync(at("web/local/deep/er/f"), "utf8")).toBe("made");
    expect(statSync(at(`web/local/${"ü".repeat(80)}`)).mtimeMs).toBe(1_600_000_000_000);
    expect(statSync(at("alloc/data/f")).mtimeMs).toBe(1_000_000_000_000);
    expect(existsSync(at("web/local/old"))).toBe(true);
    expect(disk.report).toEqual({ entries: 10, bytes: 16, skipped: 0, complete: true });
    expect([disk.onDisk, disk.getTaskDir("web"), statSync(disk.allocDirPath).mode & 0o777]).toEqual([
      true,
      undefined,
      0o700,
    ]);
    await expect(disk.snapshot(new PassThrough())).rejects.toMatchObject(code("NOT_BUILT"));
    await disk[Symbol.asyncDispose]();
    expect(readdirSync(root)).toEqual([]);
  });

  it("lets in nothing but data and the local of the tasks", async () => {
    for (const name of [
      "alloc/logs/x",
      "alloc",
      "web",
      "web/secrets/x",
      "other/local/f",
      "web/localx",
      "x",
      "alloc/datax/f",
    ])
      await refused([rawFile(name, "x")], "ARCHIVE_ENTRY");
    await refused([rawFile("alloc/data", "a file in the place of the disk")], "ARCHIVE_TYPE");
    await refused([rawLink("web/local", "../alloc")], "ARCHIVE_TYPE");
  });

  it("refuses names that lead out, whatever their type", async () => {
    for (const name of [
      "/etc/passwd",
      "../x",
      "alloc/data/../../../x",
      "alloc//data/f",
      "alloc/./data",
      "web/local/..",
      "",
    ]) {
      await refused([rawFile(name, "x")], "ARCHIVE_ESCAPE");
      await refused([rawLink(name, "f")], "ARCHIVE_ESCAPE");
    }
    await refused([rawDir("alloc/data/../x")], "ARCHIVE_ESCAPE");
    for (const name of ["alloc/data/a\0b", `alloc/data/${"n".repeat(256)}`, `alloc/data/${"n/".repeat(2100)}f`])
      await refused([pax({ path: name }), rawFile("x", "x")], "ARCHIVE_ESCAPE");
    await refused(
      [
        rawFile(`alloc/data/${"d/".repeat(40)}`.slice(0, 90), "x"),
        pax({ path: `alloc/data${"/d".repeat(129)}` }),
        rawDir("x"),
      ],
      "ARCHIVE_LIMIT",
    );
  });

  it("refuses links that lead out, also by way of other links", async () => {
    for (const target of ["/etc/passwd", "../../../x", "../../..", "closed/../../../../x", "a/..", ""])
      await refused([rawLink("web/local/a", target)], "ARCHIVE_ESCAPE");
    await refused([pax({ linkpath: "../../../../etc" }), rawLink("web/local/a", "f")], "ARCHIVE_ESCAPE");
    // Up to the directory of the allocation, and not farther.
    await using disk = await stage([rawLink("web/local/a", "../.."), rawLink("web/local/b", "./a//b")]);
    expect(readlinkSync(join(disk.allocDirPath, "web/local/a"))).toBe("../..");
  });

  it("never writes through a link, of the archive's or of anybody's making (CVE-2024-7625)", async () => {
    const outside = join(root, "outside");
    mkdirSync(outside);
    await expect(
      stage([rawLink("web/local/a", "b"), rawDir("web/local/b"), rawFile("web/local/a/f", "x")]),
    ).rejects.toMatchObject(code("ARCHIVE_ESCAPE"));
    await expect(stage([rawFile("web/local/f", "x"), rawFile("web/local/f/g", "x")])).rejects.toMatchObject(
      code("ARCHIVE_ESCAPE"),
    );
    // A file in the place of a link replaces the link, not what it leads to.
    await using disk = await stage([
      rawFile("web/local/kept", "kept"),
      rawLink("web/local/a", "kept"),
      rawFile("web/local/a", "new"),
      rawLink("web/local/kept2", "kept"),
      rawLink("web/local/kept2", "a"),
    ]);
    expect(readFileSync(join(disk.allocDirPath, "web/local/kept"), "utf8")).toBe("kept");
    expect(readFileSync(join(disk.allocDirPath, "web/local/a"), "utf8")).toBe("new");
    await using sink = await FolderSink.open(root, { owners: false });
    symlinkSync(outside, join(root, "alloc"));
    const entry = { parts: ["alloc", "data", "f"], mode: 0o644, uid: 0, gid: 0, mtime: 0 };
    await expect(sink.file(entry, 0, () => Promise.resolve(undefined))).rejects.toMatchObject(code("ARCHIVE_ESCAPE"));
    expect(readdirSync(outside)).toEqual([]);
  });

  it("refuses hard links, devices, fifos and what it does not know, or leaves them out when told to", async () => {
    for (const flag of ["1", "3", "4", "6", "7", "S", "g", "L", "K", "V"]) {
      const parts = [rawDir("web/local"), rawHeader({ name: "web/local/x", flag, linkname: "web/local/y" })];
      await refused(parts, "ARCHIVE_TYPE");
      await using disk = await stage(parts, { skipOtherTypes: true });
      expect([disk.report.skipped, readdirSync(join(disk.allocDirPath, "web/local"))]).toEqual([1, []]);
    }
    await refused([pax({ "GNU.sparse.major": "1" }), rawFile("web/local/f", "x")], "ARCHIVE_TYPE");
    await refused([rawDir("web/local/d"), rawFile("web/local/d", "x")], "IS_DIRECTORY");
  });

  it("keeps to its limits before it writes", async () => {
    await refused([rawFile("alloc/data/a", "12345"), rawFile("alloc/data/b", "6")], "ARCHIVE_LIMIT", { maxBytes: 5 });
    await refused([rawDir("alloc/data"), rawDir("alloc/data/d")], "ARCHIVE_LIMIT", { maxEntries: 1 });
    // A bomb: the size is known from the header, nothing of it is read.
    await refused([rawHeader({ name: "alloc/data/bomb", size: 2 ** 32 })], "ARCHIVE_LIMIT", { maxBytes: 2 ** 31 });
    await refused([rawHeader({ name: "x", flag: "x", size: 2 * 1024 * 1024 })], "ARCHIVE_LIMIT");
  });

  it("tells what an archive says of its own failure", async () => {
    const name = `NOMAD-${ALLOC_ID}-ERROR.log`;
    await expect(stage([rawFile(name, "Error snapshotting: disk\non fire")])).rejects.toMatchObject({
      ...code("ARCHIVE_REMOTE"),
      message: "the snapshot failed where it was made: Error snapshotting: disk on fire",
    });
    await refused([rawFile(name, "x".repeat(100_000))], "ARCHIVE_REMOTE");
  });

  it("takes an archive that breaks off for one that failed", async () => {
    const whole = [rawDir("alloc/data"), rawFile("alloc/data/f", "x".repeat(2000))];
    const bytes = Buffer.concat([...whole, TRAILER]);
    for (const length of [0, 100, 512, 700, 1024, 2000, bytes.length - 1024, bytes.length - 512, bytes.length - 1]) {
      await expect(
        stageArchive(pieces([bytes.subarray(0, length)]), { root, allocId: ALLOC_ID, tasks: ["web"], owners: false }),
      ).rejects.toMatchObject(code("ARCHIVE_TRUNCATED"));
      expect(readdirSync(root)).toEqual([]);
    }
    const noTrailer = pieces(whole);
    await using disk = await stageArchive(noTrailer, {
      root,
      allocId: ALLOC_ID,
      tasks: ["web"],
      trailerOptional: true,
    });
    expect(disk.report.complete).toBe(false);
    await expect(
      stageArchive(pieces([pax({ path: "alloc/data/f" })]), { root, allocId: ALLOC_ID, tasks: [] }),
    ).rejects.toMatchObject(code("ARCHIVE_TRUNCATED"));
    await expect(
      stageArchive(pieces([pax({ path: "alloc/data/f" }).subarray(0, 600)]), { root, allocId: ALLOC_ID, tasks: [] }),
    ).rejects.toMatchObject(code("ARCHIVE_TRUNCATED"));
  });

  it("refuses what has not the form of an archive", async () => {
    const bad = (change: (block: Buffer) => void): Buffer => {
      const block = rawHeader({ name: "alloc/data/f", size: 0 });
      change(block);
      return checksummed(block);
    };
    const negative = bad((b) => b.fill(0xff, 124, 136));
    const huge = bad((b) => b.fill(0x3f, 125, 136) && (b[124] = 0x80));
    const binary = bad((b) => b.fill(0, 108, 116) && (b[108] = 0x80) && (b[115] = 7));
    await refused([negative], "ARCHIVE_FORMAT");
    await refused([huge], "ARCHIVE_FORMAT");
    await refused([rawHeader({ name: "alloc/data/f", size: "notoctal" })], "ARCHIVE_FORMAT");
    await refused([Buffer.alloc(512, 0x41)], "ARCHIVE_FORMAT");
    await refused([Buffer.alloc(512), rawDir("alloc/data")], "ARCHIVE_FORMAT");
    await refused([pax({ path: "alloc/data/f" }), TRAILER], "ARCHIVE_FORMAT");
    for (const value of ["x", " ", "-1", "1e400"])
      await refused([pax({ size: value }), rawFile("alloc/data/f", "")], "ARCHIVE_FORMAT");
    for (const text of ["5 a=b\n", "x a=b\n", "999 a=b\n", "6 ab\n\n", "05 a=b\n", "6 a=b "]) {
      const raw = Buffer.concat([
        rawHeader({ name: "x", flag: "x", size: text.length }),
        Buffer.from(text.padEnd(512, "\0")),
      ]);
      await refused([raw, rawFile("alloc/data/f", "")], "ARCHIVE_FORMAT");
    }
    await using disk = await stage([binary, rawHeader({ name: "alloc/data/v7", magic: "", prefix: "ignored" })]);
    expect(disk.report.entries).toBe(2);
  });

  it("ends with its signal, and with a source that fails, and leaves nothing", async () => {
    const stop = new AbortController();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield rawHeader({ name: "alloc/data/f", size: 4096 });
      stop.abort(new Error("enough"));
      yield Buffer.alloc(4096);
    }
    await expect(stageArchive(slow(), { root, allocId: ALLOC_ID, tasks: [], signal: stop.signal })).rejects.toThrow(
      "enough",
    );
    async function* failing(): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      yield rawDir("alloc/data");
      throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
    }
    await expect(stageArchive(failing(), { root, allocId: ALLOC_ID, tasks: [] })).rejects.toMatchObject(code("IO"));
    await expect(stageArchive(pieces([]), { root, allocId: "x", tasks: [] })).rejects.toMatchObject(code("BAD_NAME"));
    await expect(stageArchive(pieces([]), { root, allocId: ALLOC_ID, tasks: [".."] })).rejects.toMatchObject(
      code("BAD_NAME"),
    );
    await expect(
      stageArchive(pieces([]), { root: join(root, "none"), allocId: ALLOC_ID, tasks: [] }),
    ).rejects.toMatchObject(code("NOT_FOUND"));
    expect(readdirSync(root)).toEqual([]);
  });

  it("never does anything but unpack or refuse, whatever the bytes", async () => {
    const sink: UnpackSink = {
      directory: () => Promise.resolve(),
      symlink: () => Promise.resolve(),
      file: async (_entry, _size, content) => {
        while ((await content()) !== undefined);
      },
    };
    const whole = Buffer.concat([
      rawDir("alloc/data"),
      pax({ path: "alloc/data/ü", size: "3" }),
      rawFile("x", "abc"),
      rawLink("alloc/data/l", "ü"),
      TRAILER,
    ]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 }),
        fc.integer({ min: 1, max: 2000 }),
        async (changes, size) => {
          const bytes = Buffer.from(whole);
          for (const [at, value] of changes) bytes[at] = value;
          const result = await unpackArchive(pieces([bytes], size), sink, { tasks: [] }).catch(
            (reason: unknown) => reason,
          );
          if (result instanceof Error)
            expect(result).toMatchObject({ code: expect.stringContaining("_ARCHIVE_") as string });
          else expect(result).toMatchObject({ complete: true });
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("owners", () => {
  it.skipIf(process.getuid?.() !== 0)("are those of the archive for root, but for root's own files", async () => {
    await using disk = await stage(
      [
        rawDir("alloc/data"),
        rawFile("alloc/data/f", "x", { uid: 4242 }),
        rawFile("alloc/data/r", "x"),
        rawHeader({ name: "alloc/data/l", flag: "2", linkname: "f", uid: 4242 }),
      ],
      { owners: true },
    );
    const uid = (name: string): number => lstatSync(join(disk.allocDirPath, "alloc/data", name)).uid;
    expect([uid("f"), uid("r"), uid("l")]).toEqual([4242, 0, 4242]);
  });
});
