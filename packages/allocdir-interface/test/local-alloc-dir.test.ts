import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ManualClock } from "@outrider/backoff/testing";
import type { MountEntry, Mounter } from "../src/index.ts";
import { createLocalAllocDir, createSystemMounter, parseMountinfo, sweepDestroyed } from "../src/local/index.ts";
import { ALLOC_ID, tempAlloc } from "./temp-alloc.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

/** Keeps mounts in a list; `busy` targets resist until detached lazily. */
function fakeMounter(busy: Set<string> = new Set()): Mounter & { mounts: MountEntry[]; calls: string[] } {
  const mounts: MountEntry[] = [];
  const calls: string[] = [];
  return {
    mounts,
    calls,
    mountTmpfs: (target, sizeMB) => {
      calls.push(`mount ${target.split("/").pop()} ${sizeMB}`);
      mounts.push({ target, type: "tmpfs" });
      return Promise.resolve();
    },
    unmount: (target, o) => {
      if (busy.has(target) && !o?.lazy) return Promise.reject(Object.assign(new Error("busy"), { code: "EBUSY" }));
      const at = mounts.map((m) => m.target).lastIndexOf(target);
      if (at >= 0) mounts.splice(at, 1);
      calls.push(`unmount ${target.split("/").pop()}${o?.lazy ? " lazy" : ""}`);
      return Promise.resolve();
    },
    list: (below) => Promise.resolve(mounts.filter((m) => m.target === below || m.target.startsWith(`${below}/`))),
  };
}

describe("the local layout", () => {
  it("makes Nomad's tree with its modes whatever the umask is", async () => {
    const before = process.umask(0o077);
    try {
      await using t = await tempAlloc();
      const base = t.alloc.allocDirPath;
      expect(modeOf(base)).toBe(0o755);
      for (const dir of [
        "alloc",
        "alloc/data",
        "alloc/logs",
        "alloc/tmp",
        "web",
        "web/local",
        "web/secrets",
        "web/private",
      ])
        expect([dir, modeOf(join(base, dir))]).toEqual([dir, 0o777]);
      expect(modeOf(join(base, "web/tmp"))).toBe(0o1777);
    } finally {
      process.umask(before);
    }
  });

  it("tells where everything is", async () => {
    await using t = await tempAlloc();
    const dir = t.alloc.getTaskDir("web");
    const base = t.alloc.allocDirPath;
    expect(dir).toMatchObject({
      name: "web",
      allocDir: base,
      dir: join(base, "web"),
      sharedAllocDir: join(base, "alloc"),
      logDir: join(base, "alloc/logs"),
      localDir: join(base, "web/local"),
      secretsDir: join(base, "web/secrets"),
    });
    expect(t.alloc).toMatchObject({ allocId: ALLOC_ID, shareDirPath: join(base, "alloc"), state: "built" });
    expect(t.alloc.newTaskDir({ name: "web" })).toBe(dir);
    expect(t.alloc.getTaskDir("nope")).toBeUndefined();
  });

  it.each(["", ".", "..", "alloc", "a/b", "a\\b", "a\0b", "a\nb", "\u001b[31m", "x".repeat(201), "\ud800"])(
    "refuses the task name %j before any file is made",
    async (name) => {
      await using t = await tempAlloc({ tasks: [] });
      expect(() => t.alloc.newTaskDir({ name })).toThrow(
        expect.objectContaining({ code: "ERR_OUTRIDER_ALLOCDIR_BAD_NAME" }),
      );
      expect(readdirSync(t.alloc.allocDirPath)).toEqual(["alloc"]);
    },
  );

  it("refuses an allocation id that is not a UUID", () => {
    expect(() => createLocalAllocDir({ allocId: "../x", root: "/nonexistent" })).toThrow(
      expect.objectContaining({ code: "ERR_OUTRIDER_ALLOCDIR_BAD_NAME" }),
    );
  });

  it("keeps content when it is built again, and refuses to act through a link", async () => {
    await using t = await tempAlloc();
    const base = t.alloc.allocDirPath;
    writeFileSync(join(base, "web/local/kept"), "x");
    await t.alloc.build();
    await t.alloc.getTaskDir("web")?.build({ isolation: "none" });
    expect(existsSync(join(base, "web/local/kept"))).toBe(true);
    symlinkSync("/tmp", join(base, "evil"));
    await expect(t.alloc.newTaskDir({ name: "evil" }).build({ isolation: "none" })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY",
    });
    await expect(t.alloc.getTaskDir("web")?.build({ isolation: "unveil" })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_UNSUPPORTED_ISOLATION",
    });
  });

  it("destroys everything, twice, also what a task closed to itself, and can be built again", async () => {
    await using t = await tempAlloc();
    const base = t.alloc.allocDirPath;
    mkdirSync(join(base, "web/local/a/b/c"), { recursive: true });
    symlinkSync("/etc", join(base, "web/local/a/link"));
    chmodSync(join(base, "web/local/a/b"), 0);
    await Promise.all([t.alloc.destroy(), t.alloc.destroy()]);
    expect(readdirSync(t.root)).toEqual([]);
    expect(existsSync("/etc/passwd")).toBe(true);
    expect(t.alloc.state).toBe("destroyed");
    await t.alloc.build();
    expect(readdirSync(base)).toEqual(["alloc"]);
  });

  it("sweeps trees whose deletion was interrupted", async () => {
    await using t = await tempAlloc();
    mkdirSync(join(t.root, ".destroy-x-1/deep"), { recursive: true });
    await sweepDestroyed(t.root);
    expect(readdirSync(t.root)).toEqual([ALLOC_ID]);
  });

  it("aborts a build by its signal before anything is made", async () => {
    await using t = await tempAlloc({ tasks: [] });
    await t.alloc.destroy();
    await expect(t.alloc.build({ signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow("stop");
    expect(readdirSync(t.root)).toEqual([]);
  });
});

describe.skipIf(process.geteuid?.() !== 0)("mounts of secrets (as root)", () => {
  it("mounts each once, by what is really mounted and not by a marker", async () => {
    const system = createSystemMounter();
    let mounted = 0;
    const counting: Mounter = {
      ...system,
      mountTmpfs: (target, size) => system.mountTmpfs(target, size).then(() => void mounted++),
    };
    await using t = await tempAlloc({ asRoot: true, mounter: counting, tasks: [] });
    const dir = t.alloc.newTaskDir({ name: "web", secretsMB: 5 });
    await dir.build({ isolation: "none" });
    writeFileSync(join(dir.secretsDir, "token"), "s");
    await dir.makeSecretsDirs();
    expect(mounted).toBe(2);
    expect(existsSync(join(dir.secretsDir, "token"))).toBe(true);
    expect((await system.list(dir.dir)).map((m) => m.type)).toEqual(["tmpfs", "tmpfs"]);
    expect(modeOf(dir.secretsDir)).toBe(0o777);
    await dir.unmount();
    expect(await system.list(dir.dir)).toEqual([]);
    expect(existsSync(join(dir.secretsDir, "token"))).toBe(false);
  });

  it("takes off stacked and unknown mounts before it deletes, newest and deepest first", async () => {
    const mounter = fakeMounter();
    await using t = await tempAlloc({ asRoot: true, mounter });
    const base = t.alloc.allocDirPath;
    mounter.mounts.push(
      { target: join(base, "web/secrets"), type: "tmpfs" },
      { target: join(base, "web/local/deep/er"), type: "ext4" },
      { target: "/elsewhere", type: "tmpfs" },
    );
    mounter.calls.length = 0;
    await t.alloc.destroy();
    expect(mounter.mounts).toEqual([{ target: "/elsewhere", type: "tmpfs" }]);
    expect(mounter.calls[0]).toBe("unmount er");
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("waits for a busy mount, detaches it in the end, and never deletes through one that stays", async () => {
    const clock = new ManualClock();
    const busy = new Set<string>();
    const mounter = fakeMounter(busy);
    await using t = await tempAlloc({ asRoot: true, mounter, tasks: [] });
    const alloc = createLocalAllocDir({ allocId: ALLOC_ID, root: t.root, asRoot: true, mounter, clock });
    await alloc.newTaskDir({ name: "web" }).build({ isolation: "none" });
    busy.add(join(alloc.allocDirPath, "web/secrets"));
    const done = alloc.destroy();
    for (let i = 0; i < 50; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1000);
    }
    await done;
    expect(mounter.calls.at(-1)).toBe("unmount secrets lazy");
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("looks at the table once after a task, takes off what others mounted later, and deletes nothing of it", async () => {
    const system = createSystemMounter();
    let looks = 0;
    const mounter: Mounter = { ...system, list: (below) => system.list(below).finally(() => void looks++) };
    await using t = await tempAlloc({ asRoot: true, mounter });
    await t.alloc.unmountAll();
    expect(looks).toBe(1);
    const late = join(t.alloc.allocDirPath, "web/local/late");
    mkdirSync(late);
    await system.mountTmpfs(late, 1);
    writeFileSync(join(late, "kept"), "");
    await t.alloc.destroy();
    expect(looks).toBeGreaterThan(1);
    expect(await system.list(t.root)).toEqual([]);
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("mounts and unmounts a real tmpfs", async () => {
    const mounter = createSystemMounter();
    await using t = await tempAlloc({ tasks: [] });
    await mounter.mountTmpfs(t.alloc.shareDirPath, 1);
    expect(await mounter.list(t.alloc.shareDirPath)).toEqual([{ target: t.alloc.shareDirPath, type: "tmpfs" }]);
    await mounter.unmount(t.alloc.shareDirPath);
    await expect(mounter.unmount(t.alloc.shareDirPath)).rejects.toMatchObject({ code: "EIO" });
  });
});

it("reads a mount table with escaped blanks, and only what is below a directory", () => {
  const text =
    "36 35 98:0 / /mnt/a\\040b\\134c rw - ext4 /dev/root rw\nnonsense /mnt\n37 35 0:5 / /mnt rw,noatime shared:1 master:2 - tmpfs tmpfs rw\n38 35 0:6 / /mnt2 rw - tmpfs tmpfs rw\n39 1 0:7 /mnt /x rw - bind /mnt rw";
  expect(parseMountinfo(text, "/mnt")).toEqual([
    { target: "/mnt/a b\\c", type: "ext4" },
    { target: "/mnt", type: "tmpfs" },
  ]);
  expect(parseMountinfo(text, "/mnt/a b\\c")).toEqual([{ target: "/mnt/a b\\c", type: "ext4" }]);
  expect(parseMountinfo(text, "/nowhere")).toEqual([]);
});
