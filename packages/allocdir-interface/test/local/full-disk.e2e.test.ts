/** Real file systems that are full or read-only; as root, since only root mounts them. */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AllocDir } from "../../src/index.ts";
import { createFileBelow, createLocalAllocDir } from "../../src/local/index.ts";
import { stageArchive } from "../../src/migrate/index.ts";
import { ALLOC_ID } from "../temp-alloc.ts";
import { pieces, rawDir, rawFile, snapshotOf, TRAILER } from "../migrate/archives.ts";

const OLD_ID = ALLOC_ID.replace("0a", "0b");
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("not root: no file system is mounted for these tests");

let base: string;
let small: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "outrider-full-"));
  small = join(base, "small");
  mkdirSync(small);
});
afterEach(() => {
  // Whatever stands on it by now.
  while (spawnSync("umount", [small]).status === 0);
  rmSync(base, { recursive: true, force: true });
});

function mount(options: string): void {
  const done = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", small], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
}

/** Writes until nothing more goes in. */
function fill(): void {
  const fd = openSync(join(small, "filler"), "w");
  try {
    for (;;) writeSync(fd, Buffer.alloc(64 * 1024));
  } catch (reason) {
    expect((reason as NodeJS.ErrnoException).code).toBe("ENOSPC");
  }
  expect(fstatSync(fd).size).toBeGreaterThan(0);
  closeSync(fd);
}

const allocIn = (root: string, allocId = ALLOC_ID): AllocDir => createLocalAllocDir({ allocId, root, asRoot: false });
const code = (reason: string): object => ({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` });

async function withFiles(root: string): Promise<AllocDir> {
  const old = allocIn(root, OLD_ID);
  await old.build();
  await old.newTaskDir({ name: "web" }).build({ isolation: "none" });
  writeFileSync(join(old.allocDirPath, "alloc/data/d"), Buffer.alloc(3 * 1024 * 1024, "d"));
  writeFileSync(join(old.allocDirPath, "web/local/f"), "f");
  return old;
}

describe.runIf(isRoot)("a disk without room", () => {
  it("for another directory leaves no half of an allocation or of a task", async () => {
    for (let inodes = 2; inodes < 6; inodes++) {
      mount(`size=1m,nr_inodes=${inodes}`);
      await expect(allocIn(small).build()).rejects.toMatchObject(code("NO_SPACE"));
      expect(readdirSync(small)).toEqual([]);
      spawnSync("umount", [small]);
    }
    mount("size=1m,nr_inodes=9");
    const alloc = allocIn(small);
    await alloc.build();
    await expect(alloc.newTaskDir({ name: "web" }).build({ isolation: "none" })).rejects.toMatchObject(
      code("NO_SPACE"),
    );
    expect(readdirSync(alloc.allocDirPath)).toEqual(["alloc"]);
    await alloc.destroy();
    expect(readdirSync(small)).toEqual([]);
  });

  it("keeps an archive out whole, and a disk from another file system where it was", async () => {
    mount("size=2m");
    const big = rawFile("web/local/big", "x".repeat(4 * 1024 * 1024));
    await expect(
      stageArchive(pieces([rawDir("web/local"), rawFile("web/local/a", "a"), big, TRAILER], 65_536), {
        root: small,
        allocId: ALLOC_ID,
        tasks: ["web"],
      }),
    ).rejects.toMatchObject(code("NO_SPACE"));
    expect(readdirSync(small)).toEqual([]);
    const old = await withFiles(base);
    const alloc = allocIn(small);
    await alloc.build();
    await expect(alloc.move(old, ["web"])).rejects.toMatchObject(code("NO_SPACE"));
    expect([
      readdirSync(small),
      readdirSync(alloc.allocDirPath),
      readdirSync(join(alloc.allocDirPath, "alloc/data")),
    ]).toEqual([[ALLOC_ID], ["alloc"], []]);
    expect([
      statSync(join(old.allocDirPath, "alloc/data/d")).size,
      statSync(join(old.allocDirPath, "web/local/f")).size,
    ]).toEqual([3 * 1024 * 1024, 1]);
    // Another one of its size has room: the disk goes over for real.
    rmSync(join(old.allocDirPath, "alloc/data/d"));
    symlinkSync("/etc/passwd", join(old.allocDirPath, "web/local/link"));
    expect(await alloc.move(old, ["web"])).toEqual({ moved: ["alloc/data", "web/local"], skipped: [] });
    expect(readdirSync(join(alloc.allocDirPath, "web/local"))).toEqual(["f", "link"]);
    expect(readdirSync(join(old.allocDirPath, "web"))).toEqual(["private", "secrets", "tmp"]);
    await alloc.destroy();
  });

  it("refuses a file below a task's directory without a trace, and still gives what is there", async () => {
    mount("size=1m");
    const alloc = allocIn(small);
    await alloc.build();
    const web = alloc.newTaskDir({ name: "web" });
    await web.build({ isolation: "none" });
    writeFileSync(join(web.localDir, "f"), "f");
    fill();
    {
      await using file = await createFileBelow(web.localDir, "new", { mode: 0o644 });
      await expect(file.handle.writeFile(Buffer.alloc(64 * 1024))).rejects.toMatchObject({ code: "ENOSPC" });
    }
    expect(readdirSync(web.localDir)).toEqual(["f"]);
    expect((await snapshotOf(alloc)).toString("latin1")).toContain("web/local/f");
    await alloc.destroy();
    expect(readdirSync(small)).toEqual(["filler"]);
  });
});

describe.runIf(isRoot)("a disk that is read-only", () => {
  it("refuses to build, to move and to destroy, and is as it was when it can be written again", async () => {
    mount("size=4m");
    const old = await withFiles(small);
    const alloc = allocIn(small);
    await alloc.build();
    expect(spawnSync("mount", ["-o", "remount,ro", small]).status).toBe(0);
    await expect(allocIn(small, OLD_ID.replace("0b", "0c")).build()).rejects.toMatchObject(code("READ_ONLY"));
    await expect(old.newTaskDir({ name: "api" }).build({ isolation: "none" })).rejects.toMatchObject(code("READ_ONLY"));
    await expect(alloc.move(old, ["web"])).rejects.toMatchObject(code("READ_ONLY"));
    await expect(stageArchive(pieces([TRAILER]), { root: small, allocId: ALLOC_ID, tasks: [] })).rejects.toMatchObject(
      code("READ_ONLY"),
    );
    await expect(alloc.destroy()).rejects.toMatchObject(code("READ_ONLY"));
    expect((await old.list("web/local")).map((e) => e.Name)).toEqual(["f"]);
    expect((await snapshotOf(old)).length).toBeGreaterThan(3 * 1024 * 1024);
    expect(spawnSync("mount", ["-o", "remount,rw", small]).status).toBe(0);
    expect((await alloc.move(old, ["web"]).catch((reason: unknown) => reason)) instanceof Error).toBe(true);
    await alloc.destroy();
    expect(readdirSync(small)).toEqual([OLD_ID]);
    await old.destroy();
  });
});
