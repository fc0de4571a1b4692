import type * as Fs from "node:fs/promises";
import { existsSync, linkSync, mkdirSync, readdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { streamFile, taskLogs } from "../../src/index.ts";
import { createFileBelow, parseMountinfo } from "../../src/local/index.ts";
import { removeTree } from "../../src/local/remove-tree.ts";
import { tempAlloc } from "../temp-alloc.ts";

/** What the disk does beside its work: set by a test, taken away after it. */
const disk = vi.hoisted(() => ({
  unlink: undefined as ((path: string) => string | undefined) | undefined,
  listed: undefined as ((names: readonly string[]) => void) | undefined,
}));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof Fs>();
  return {
    ...real,
    unlink: async (path: string) => {
      const code = disk.unlink?.(path);
      if (code !== undefined) throw Object.assign(new Error(code), { code });
      return real.unlink(path);
    },
    readdir: async (path: string) => {
      const names = await real.readdir(path);
      disk.listed?.(names);
      return names;
    },
  };
});

afterEach(() => {
  disk.unlink = undefined;
  disk.listed = undefined;
});

describe("deleting a tree on a disk with faults", () => {
  it("names what cannot be deleted, and leaves it", async () => {
    await using t = await tempAlloc();
    const dir = join(t.root, "doomed");
    mkdirSync(join(dir, "a"), { recursive: true });
    writeFileSync(join(dir, "a/stuck"), "");
    disk.unlink = (path) => (path.endsWith("/stuck") ? "EROFS" : undefined);
    await expect(removeTree(dir, "doomed")).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_IO",
      message: '"doomed": cannot delete "stuck": EROFS',
    });
    expect(existsSync(join(dir, "a/stuck"))).toBe(true);
    disk.unlink = undefined;
    await removeTree(dir, "doomed");
    expect(existsSync(dir)).toBe(false);
  });

  it("goes round again over what turned from a folder into a link just now, on systems that say EPERM as well", async () => {
    await using t = await tempAlloc();
    const dir = join(t.root, "doomed");
    mkdirSync(dir);
    symlinkSync("/etc", join(dir, "turned"));
    let first = true;
    disk.unlink = (path) => (path.endsWith("/turned") && first ? ((first = false), "EPERM") : undefined);
    await removeTree(dir, "doomed");
    expect(existsSync(dir)).toBe(false);
    expect(existsSync("/etc/passwd")).toBe(true);
  });

  it("does not take a folder it may not open for one that has gone", async () => {
    await using t = await tempAlloc();
    const dir = join(t.root, "doomed");
    mkdirSync(dir);
    const long = "x".repeat(300);
    disk.listed = (names) => void (names as string[]).push(long);
    disk.unlink = (path) => (path.endsWith(long) ? "EISDIR" : undefined);
    await expect(removeTree(dir, "doomed")).rejects.toMatchObject({ code: "ENAMETOOLONG" });
    disk.listed = undefined;
  });
});

describe("a folder that changes while it is read", () => {
  it("is listed without what has gone meanwhile", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    for (const name of ["a", "b", "c"]) writeFileSync(join(local, name), "");
    disk.listed = (names) => names.includes("b") && existsSync(join(local, "b")) && unlinkSync(join(local, "b"));
    expect((await t.alloc.list("web/local")).map((e) => e.Name)).toEqual(["a", "c"]);
  });

  it("is searched for hard links without what has gone meanwhile", async () => {
    await using t = await tempAlloc();
    const base = t.alloc.allocDirPath;
    writeFileSync(join(base, "web/secrets/a"), "s");
    linkSync(join(base, "web/secrets/a"), join(base, "web/local/leak"));
    writeFileSync(join(base, "web/secrets/gone"), "");
    disk.listed = (names) =>
      names.includes("gone") &&
      existsSync(join(base, "web/secrets/gone")) &&
      unlinkSync(join(base, "web/secrets/gone"));
    await expect(t.alloc.readAt("web/local/leak", 0)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_SECRET_FILE",
    });
  });

  it("is refused rather than leaked from when it holds more entries than are looked at", async () => {
    await using t = await tempAlloc();
    const base = t.alloc.allocDirPath;
    writeFileSync(join(base, "web/local/a"), "x");
    linkSync(join(base, "web/local/a"), join(base, "web/local/b"));
    await using reader = await t.alloc.readAt("web/local/a", 0);
    expect((await reader.read(2)).length).toBe(1);
    disk.listed = (names) => {
      if (names.length === 0) for (let i = 0; i <= 10_000; i++) (names as string[]).push(`gone${i}`);
    };
    await expect(t.alloc.readAt("web/local/a", 0)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_SECRET_FILE" });
    disk.listed = undefined;
  });
});

describe("small ends", () => {
  it("a file below a folder with an impossible name is not made, and one whose draft was taken away is let go", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    await expect(createFileBelow(local, `${"x".repeat(300)}/f`, { mode: 0o644 })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_IO",
    });
    const draft = await createFileBelow(local, "f", { mode: 0o644 });
    for (const name of readdirSync(local)) unlinkSync(join(local, name));
    await draft[Symbol.asyncDispose]();
    expect(readdirSync(local)).toEqual([]);
  });

  it("a mount line that breaks off has no type", () => {
    expect(parseMountinfo("36 35 98:0 / /mnt rw -", "/mnt")).toEqual([{ target: "/mnt", type: "" }]);
  });

  it("following ends with its signal by the system's clock, too", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "alloc/logs/web.stdout.0"), "x");
    const request = { offset: 0, origin: "start", follow: true } as const;
    for (const follow of [
      (signal: AbortSignal) => streamFile(t.alloc, { ...request, path: "alloc/logs/web.stdout.0" }, { signal }),
      (signal: AbortSignal) => taskLogs(t.alloc, { ...request, task: "web", type: "stdout" }, { signal }),
    ]) {
      const stop = new AbortController();
      const frames = follow(stop.signal);
      expect((await frames.next()).done).toBe(false);
      const waiting = frames.next();
      setImmediate(() => stop.abort(new Error("enough")));
      await expect(waiting).rejects.toThrow("enough");
    }
  });
});
