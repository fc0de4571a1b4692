import type * as Fs from "node:fs/promises";
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AllocDir } from "../../src/index.ts";
import { createLocalAllocDir, sweepDestroyed } from "../../src/local/index.ts";
import { stageArchive } from "../../src/migrate/index.ts";
import { ALLOC_ID, tempAlloc } from "../temp-alloc.ts";
import { pieces, rawDir, rawFile, snapshotOf, TRAILER } from "./archives.ts";

/** What the disk does instead of its work: set by a test, taken away after it. */
const disk = vi.hoisted(() => ({
  rename: undefined as ((from: string, to: string) => string | void) | undefined,
  write: undefined as (() => string | undefined) | undefined,
}));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof Fs>();
  const fail = (code: string | void): void => {
    if (code !== undefined) throw Object.assign(new Error(code), { code });
  };
  return {
    ...real,
    rename: async (from: string, to: string) => {
      fail(disk.rename?.(from, to));
      return real.rename(from, to);
    },
    open: async (path: string, ...rest: [number, number?]) => {
      const handle = await real.open(path, ...rest);
      if (disk.write !== undefined) {
        const write = handle.write.bind(handle);
        handle.write = (async (...args: Parameters<typeof write>) => {
          fail(disk.write?.());
          return write(...args);
        }) as typeof handle.write;
      }
      return handle;
    },
  };
});

afterEach(() => {
  disk.rename = undefined;
  disk.write = undefined;
});

const OLD_ID = ALLOC_ID.replace("0a", "0b");
const code = (reason: string): object => ({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` });

interface Pair extends AsyncDisposable {
  readonly alloc: AllocDir;
  readonly old: AllocDir;
  readonly root: string;
}

/** A new allocation without tasks yet, and an old one with data and two tasks' files. */
async function pair(oldRoot?: string): Promise<Pair> {
  const t = await tempAlloc({ tasks: [] });
  const old = createLocalAllocDir({ allocId: OLD_ID, root: oldRoot ?? t.root, asRoot: false });
  await old.build();
  for (const name of ["web", "api"]) await old.newTaskDir({ name }).build({ isolation: "none" });
  writeFileSync(join(old.allocDirPath, "alloc/data/d"), "data");
  writeFileSync(join(old.allocDirPath, "alloc/logs/web.stdout.0"), "log");
  writeFileSync(join(old.allocDirPath, "web/secrets/s"), "SECRET");
  for (const name of ["web", "api"]) writeFileSync(join(old.allocDirPath, name, "local/f"), name, { mode: 0o751 });
  return {
    alloc: t.alloc,
    old,
    root: t.root,
    [Symbol.asyncDispose]: async () => {
      disk.rename = undefined;
      await old.destroy();
      await t[Symbol.asyncDispose]();
    },
  };
}

const read = (dir: AllocDir, path: string): string => readFileSync(join(dir.allocDirPath, path), "utf8");

/** Everything is where it was, and nothing has appeared beside it. */
function expectUntouched(p: Pair): void {
  expect([read(p.old, "alloc/data/d"), read(p.old, "web/local/f"), read(p.old, "api/local/f")]).toEqual([
    "data",
    "web",
    "api",
  ]);
  expect(readdirSync(p.alloc.allocDirPath)).toEqual(["alloc"]);
  expect(readdirSync(join(p.alloc.allocDirPath, "alloc/data"))).toEqual([]);
  expect(readdirSync(p.root).filter((name) => name.startsWith("."))).toEqual([]);
}

describe("taking over a disk on the same file system", () => {
  it("moves data and the local of the new group's tasks, and nothing else", async () => {
    await using p = await pair();
    const inode = statSync(join(p.old.allocDirPath, "web/local/f")).ino;
    expect(await p.alloc.move(p.old, ["web", "new"])).toEqual({ moved: ["alloc/data", "web/local"], skipped: [] });
    expect([read(p.alloc, "alloc/data/d"), read(p.alloc, "web/local/f")]).toEqual(["data", "web"]);
    expect(statSync(join(p.alloc.allocDirPath, "web/local/f")).ino).toBe(inode);
    expect([read(p.old, "api/local/f"), read(p.old, "alloc/logs/web.stdout.0"), read(p.old, "web/secrets/s")]).toEqual([
      "api",
      "log",
      "SECRET",
    ]);
    expect(readdirSync(join(p.alloc.allocDirPath, "alloc/logs"))).toEqual([]);
    expect(statSync(join(p.alloc.allocDirPath, "web")).mode & 0o777).toBe(0o777);
    // The task's directory is built around what is there.
    await p.alloc.newTaskDir({ name: "web" }).build({ isolation: "none" });
    expect(read(p.alloc, "web/local/f")).toBe("web");
    expect((await p.alloc.list("web")).map((e) => e.Name)).toEqual(["local", "private", "secrets", "tmp"]);
  });

  it("needs a built allocation, plain names and an empty place, and loses nothing when it refuses", async () => {
    await using p = await pair();
    const unbuilt = createLocalAllocDir({ allocId: ALLOC_ID.replace("0a", "0c"), root: p.root, asRoot: false });
    await expect(unbuilt.move(p.old, ["web"])).rejects.toMatchObject(code("NOT_BUILT"));
    await expect(p.alloc.move(p.old, [".."])).rejects.toMatchObject(code("BAD_NAME"));
    await expect(p.alloc.move(p.old, ["web"], { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expectUntouched(p);
    mkdirSync(join(p.alloc.allocDirPath, "api/local"), { recursive: true });
    writeFileSync(join(p.alloc.allocDirPath, "api/local/mine"), "mine");
    await expect(p.alloc.move(p.old, ["web", "api"])).rejects.toMatchObject(code("NOT_EMPTY"));
    expect([read(p.old, "web/local/f"), read(p.old, "alloc/data/d"), read(p.alloc, "api/local/mine")]).toEqual([
      "web",
      "data",
      "mine",
    ]);
    expect(readdirSync(join(p.alloc.allocDirPath, "alloc/data"))).toEqual([]);
    expect(existsSync(join(p.alloc.allocDirPath, "web"))).toBe(false);
  });

  it("leaves links and files in the place of a directory alone, and says so", async () => {
    await using p = await pair();
    rmSync(join(p.old.allocDirPath, "web/local"), { recursive: true });
    symlinkSync("/etc", join(p.old.allocDirPath, "web/local"));
    rmSync(join(p.old.allocDirPath, "api"), { recursive: true });
    symlinkSync("web", join(p.old.allocDirPath, "api"));
    expect(await p.alloc.move(p.old, ["web", "api"])).toEqual({
      moved: ["alloc/data"],
      skipped: [{ path: "web/local", reason: "link" }],
    });
    expect(existsSync(join(p.alloc.allocDirPath, "web"))).toBe(false);
  });

  it("puts back what a task exchanged at the last moment", async () => {
    await using p = await pair();
    const local = join(p.old.allocDirPath, "web/local");
    let swapped = false;
    disk.rename = (from) => {
      if (swapped || !from.endsWith("/local")) return;
      swapped = true;
      renameSync(local, `${local}-aside`);
      symlinkSync("/etc", local);
    };
    await p.alloc.newTaskDir({ name: "web" }).build({ isolation: "none" });
    const report = await p.alloc.move(p.old, ["web"]).catch((reason: unknown) => reason);
    // A link cannot take the place of a directory: the system refuses, and all is as before.
    expect(report).toMatchObject(code("IS_DIRECTORY"));
    expect(statSync(join(p.alloc.allocDirPath, "web/local")).isDirectory()).toBe(true);
    rmSync(local);
    renameSync(`${local}-aside`, local);
    swapped = false;
    disk.rename = (from) => {
      if (swapped || !from.endsWith("/local")) return;
      swapped = true;
      renameSync(local, `${local}-aside`);
      mkdirSync(local);
      writeFileSync(join(local, "planted"), "");
    };
    expect(await p.alloc.move(p.old, ["web"])).toEqual({
      moved: ["alloc/data"],
      skipped: [{ path: "web/local", reason: "link" }],
    });
    expect(readdirSync(join(p.alloc.allocDirPath, "web/local"))).toEqual([]);
    expect(readdirSync(local)).toEqual(["planted"]);
  });

  it("moves finished parts back when a later one fails", async () => {
    await using p = await pair();
    for (const fault of ["EIO", "EROFS", "ENOSPC"]) {
      let count = 0;
      disk.rename = () => (++count === 3 ? fault : undefined);
      const expected = { EIO: "IO", EROFS: "READ_ONLY", ENOSPC: "NO_SPACE" }[fault] as string;
      await expect(p.alloc.move(p.old, ["web", "api"])).rejects.toMatchObject(code(expected));
      disk.rename = undefined;
      expectUntouched(p);
    }
    const stop = new AbortController();
    disk.rename = () => stop.abort(new Error("enough"));
    await expect(p.alloc.move(p.old, ["web"], { signal: stop.signal })).rejects.toThrow("enough");
    disk.rename = undefined;
    expectUntouched(p);
  });

  it("finds nothing where the old allocation has vanished", async () => {
    await using p = await pair();
    rmSync(p.old.allocDirPath, { recursive: true });
    expect(await p.alloc.move(p.old, ["web"])).toEqual({ moved: [], skipped: [] });
    expect(readdirSync(join(p.alloc.allocDirPath, "alloc"))).toEqual(["data", "logs", "tmp"]);
  });
});

describe("taking over a disk from elsewhere", () => {
  const exdev = (root: string): void => {
    disk.rename = (from, to) => {
      // Only from one allocation to another: what was unpacked stands on the right file system.
      void to;
      return from.includes("/fd/") && !staged(root) ? "EXDEV" : undefined;
    };
  };
  const staged = (root: string): boolean => readdirSync(root).some((name) => name.startsWith(".migrate-"));

  it("copies across file systems with modes, links and times, and deletes the source afterwards", async () => {
    await using p = await pair();
    const local = join(p.old.allocDirPath, "web/local");
    symlinkSync("/etc/passwd", join(local, "absolute"));
    mkdirSync(join(local, "d"));
    chmodSync(join(local, "d"), 0o1710);
    chmodSync(join(local, "f"), 0o4751);
    const before = lstatSync(join(local, "f"));
    exdev(p.root);
    const report = await p.alloc.move(p.old, ["web", "none"]);
    expect(report).toEqual({ moved: ["alloc/data", "web/local"], skipped: [] });
    const after = lstatSync(join(p.alloc.allocDirPath, "web/local/f"));
    expect([after.mode, Math.floor(after.mtimeMs / 1000)]).toEqual([before.mode, Math.floor(before.mtimeMs / 1000)]);
    expect(lstatSync(join(p.alloc.allocDirPath, "web/local/d")).mode & 0o7777).toBe(0o1710);
    expect(lstatSync(join(p.alloc.allocDirPath, "web/local/absolute")).isSymbolicLink()).toBe(true);
    expect([existsSync(local), read(p.old, "api/local/f")]).toEqual([false, "api"]);
    expect(staged(p.root)).toBe(false);
  });

  it("leaves all as it was when the copy meets a full disk", async () => {
    await using p = await pair();
    exdev(p.root);
    disk.write = () => "ENOSPC";
    await expect(p.alloc.move(p.old, ["web", "api"])).rejects.toMatchObject(code("NO_SPACE"));
    disk.write = undefined;
    disk.rename = undefined;
    expectUntouched(p);
  });

  it("tells of the first failure when the source cannot be read", async () => {
    await using p = await pair();
    let at = join(p.old.allocDirPath, "web/local");
    for (let i = 0; i < 130; i++) mkdirSync((at = join(at, "d")));
    exdev(p.root);
    await expect(p.alloc.move(p.old, ["web"])).rejects.toMatchObject(code("ARCHIVE_LIMIT"));
    disk.rename = undefined;
    expect(staged(p.root)).toBe(false);
    expect(read(p.old, "web/local/f")).toBe("web");
  });

  it("goes by a snapshot where the other layout has no files", async () => {
    await using p = await pair();
    const source = {
      onDisk: false,
      allocDirPath: "nowhere",
      shareDirPath: "nowhere",
      getTaskDir: () => undefined,
      snapshot: p.old.snapshot.bind(p.old),
    };
    expect(await p.alloc.move(source, ["api"])).toEqual({ moved: ["alloc/data", "api/local"], skipped: [] });
    expect(read(p.alloc, "api/local/f")).toBe("api");
  });

  it("takes over what was unpacked from another node's archive, and what is left goes", async () => {
    await using p = await pair();
    const archive = await snapshotOf(p.old);
    {
      await using disk_ = await stageArchive(pieces([archive]), {
        root: p.root,
        allocId: ALLOC_ID,
        tasks: ["web", "api"],
      });
      expect(await p.alloc.move(disk_, ["web"])).toEqual({ moved: ["alloc/data", "web/local"], skipped: [] });
    }
    expect([read(p.alloc, "alloc/data/d"), read(p.alloc, "web/local/f"), read(p.old, "web/local/f")]).toEqual([
      "data",
      "web",
      "web",
    ]);
    expect(staged(p.root)).toBe(false);
    // What a crash left behind is swept at the next start.
    const left = await stageArchive(pieces([rawDir("web/local"), rawFile("web/local/f", "x"), TRAILER]), {
      root: p.root,
      allocId: ALLOC_ID,
      tasks: ["web"],
    });
    expect(existsSync(left.allocDirPath)).toBe(true);
    await sweepDestroyed(p.root);
    expect(existsSync(left.allocDirPath)).toBe(false);
  });
});

describe("another user's task", () => {
  it.skipIf(process.getuid?.() !== 0)("gets the files of the old user, and only those", async () => {
    await using p = await pair();
    const local = join(p.old.allocDirPath, "web/local");
    mkdirSync(join(local, "d"));
    writeFileSync(join(local, "d/mine"), "");
    symlinkSync("/etc/passwd", join(local, "link"));
    for (const name of ["d", "d/mine", "link"]) lchownSync(join(local, name), 80_001, name === "d" ? 7 : 80_001);
    const ref = (id: number): { uid: number; gid: number } => ({ uid: id, gid: id });
    const owners = { web: { from: ref(80_001), to: ref(80_002) } };
    await p.alloc.move(p.old, ["web"], { owners });
    const at = (name: string): number[] => {
      const stats = lstatSync(join(p.alloc.allocDirPath, "web/local", name));
      return [stats.uid, stats.gid];
    };
    expect([at("d"), at("d/mine"), at("link"), at("f")]).toEqual([
      [80_002, 7],
      [80_002, 80_002],
      [80_002, 80_002],
      [0, 0],
    ]);
    expect(lstatSync("/etc/passwd").uid).toBe(0);
  });

  it("is not moved to when the change of owners fails", async () => {
    await using p = await pair();
    const ref = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const owners = { web: { from: ref, to: { uid: -5, gid: -5 } } };
    await expect(p.alloc.move(p.old, ["web"], { owners })).rejects.toMatchObject(code("IO"));
    expectUntouched(p);
  });
});
