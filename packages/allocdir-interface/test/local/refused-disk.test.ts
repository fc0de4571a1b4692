import type * as Fs from "node:fs";
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createLocalAllocDir } from "../../src/local/index.ts";
import { FakeMounter } from "../fake-mounter.ts";
import { ALLOC_ID, tempAlloc } from "../temp-alloc.ts";

/** Fails the making of directories from the so-manyth on. */
const disk = vi.hoisted(() => ({ after: Number.POSITIVE_INFINITY, code: "ENOSPC" }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof Fs>();
  return {
    ...real,
    mkdirSync: (...args: Parameters<typeof real.mkdirSync>) => {
      if (disk.after-- <= 0) throw Object.assign(new Error(disk.code), { code: disk.code });
      return real.mkdirSync(...args);
    },
  };
});

// Whoever runs the tests takes the part of `nobody`, so that root's way through the code needs no root.
vi.mock("../../src/local/nobody.ts", async (original) => ({
  ...(await original<object>()),
  nobody: () => Promise.resolve({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }),
}));

afterEach(() => void (disk.after = Number.POSITIVE_INFINITY));

const REASONS = { ENOSPC: "NO_SPACE", EDQUOT: "NO_SPACE", EROFS: "READ_ONLY", EIO: "IO" } as const;
const NEW_ID = ALLOC_ID.replace("0a", "0b");

describe.each(Object.entries(REASONS))("a disk that refuses with %s", (code, reason) => {
  it("at any step of a build leaves nothing of it, with an error that says so", async () => {
    await using t = await tempAlloc();
    disk.code = code;
    for (let step = 0; step < 5; step++) {
      const alloc = createLocalAllocDir({ allocId: NEW_ID, root: t.root, asRoot: false });
      disk.after = step;
      await expect(alloc.build()).rejects.toMatchObject({ code: `ERR_OUTRIDER_ALLOCDIR_${reason}` });
      expect([alloc.state, readdirSync(t.root)]).toEqual(["new", [ALLOC_ID]]);
      disk.after = Number.POSITIVE_INFINITY;
      await alloc.build();
      await alloc.destroy();
    }
  });

  it("at any step of a task's directory takes off what was mounted and made, and keeps what was there", async () => {
    await using t = await tempAlloc({ tasks: [] });
    disk.code = code;
    const mounter = new FakeMounter();
    const alloc = createLocalAllocDir({ allocId: ALLOC_ID, root: t.root, asRoot: true, mounter });
    await alloc.build();
    for (let step = 0; step < 5; step++) {
      disk.after = step;
      await expect(alloc.newTaskDir({ name: "web" }).build({ isolation: "none" })).rejects.toMatchObject({
        code: `ERR_OUTRIDER_ALLOCDIR_${reason}`,
        path: "web",
      });
      expect([readdirSync(alloc.allocDirPath), existsSync(join(alloc.allocDirPath, "web"))]).toEqual([
        ["alloc"],
        false,
      ]);
    }
    disk.after = Number.POSITIVE_INFINITY;
    const web = alloc.newTaskDir({ name: "web" });
    await web.build({ isolation: "none" });
    writeFileSync(join(web.localDir, "kept"), "");
    rmSync(web.tmpDir, { recursive: true });
    disk.after = 2;
    await expect(web.build({ isolation: "none" })).rejects.toThrow();
    expect(existsSync(join(web.localDir, "kept"))).toBe(true);
  });
});

describe("a folder that has vanished", () => {
  it("is told by everything that needs it, and nothing is made in its place", async () => {
    await using t = await tempAlloc();
    rmSync(t.alloc.allocDirPath, { recursive: true });
    const { signal } = new AbortController();
    const web = t.alloc.getTaskDir("web");
    for (const call of [
      () => t.alloc.list("/"),
      () => t.alloc.stat("web"),
      () => t.alloc.readAt("web/local/f", 0),
      () => t.alloc.identify("web"),
      () => t.alloc.blockUntilExists("web/local/f", { signal }),
      async () => t.alloc.changeEvents("web/local/f", 0, { signal })[Symbol.asyncIterator]().next(),
    ])
      await expect(call()).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_BUILT" });
    for (const call of [() => web?.build({ isolation: "none" }), () => web?.makeSecretsDirs()])
      await expect(call()).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND" });
    expect(readdirSync(t.root)).toEqual([]);
    await t.alloc.build();
    expect(statSync(join(t.alloc.allocDirPath, "alloc")).mode & 0o777).toBe(0o777);
  });
});
