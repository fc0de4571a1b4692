import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "@outrider/backoff/testing";
import type { AllocDir, TaskDir } from "../../src/index.ts";
import { createSystemMounter } from "../../src/local/index.ts";
import { createMountsAllocDir, type MountsAllocDirOptions } from "../../src/mounts/index.ts";
import { FakeMounter } from "../fake-mounter.ts";
import { ALLOC_ID } from "../temp-alloc.ts";

const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

// Whoever runs the tests takes the part of `nobody`, so that root's way through the code needs no root.
vi.mock("../../src/local/nobody.ts", async (original) => ({
  ...(await original<object>()),
  nobody: () => Promise.resolve({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }),
}));

let home: string;
let mounter: FakeMounter;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "outrider-mounts-"));
  mounter = new FakeMounter();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const create = (o: Partial<MountsAllocDirOptions> = {}): AllocDir =>
  createMountsAllocDir({
    allocId: ALLOC_ID,
    root: join(home, "allocs"),
    mountsRoot: join(home, "mounts"),
    asRoot: true,
    mounter,
    ...o,
  });
const view = (): string => join(home, "mounts", `${ALLOC_ID}-web`);

async function unveiled(alloc: AllocDir): Promise<TaskDir> {
  await alloc.build();
  const task = alloc.newTaskDir({ name: "web" });
  await task.build({ isolation: "unveil", user: self });
  return task;
}

describe("the view of a task", () => {
  it("is made of three binds, and taken off before the secrets are", async () => {
    const alloc = create();
    const task = await unveiled(alloc);
    expect(mounter.calls).toEqual(["tmpfs secrets 1", "tmpfs private 1", "bind web", "bind alloc", "bind secrets"]);
    expect(task).toMatchObject({
      mountsTaskDir: view(),
      mountsAllocDir: join(view(), "alloc"),
      mountsSecretsDir: join(view(), "secrets"),
    });
    expect(statSync(view()).mode & 0o777).toBe(0o710);
    expect(statSync(join(view(), "alloc")).mode & 0o777).toBe(0o777);
    mounter.calls.length = 0;
    await alloc.destroy();
    expect(mounter.calls).toEqual([
      "unmount secrets",
      "unmount alloc",
      `unmount ${ALLOC_ID}-web`,
      "unmount private",
      "unmount secrets",
    ]);
    expect([readdirSync(join(home, "allocs")), readdirSync(join(home, "mounts"))]).toEqual([[], []]);
  });

  it("is made once, however often it is built", async () => {
    const alloc = create();
    await unveiled(alloc);
    const before = mounter.targets.filter((target) => target.startsWith(view()));
    await unveiled(alloc);
    expect(mounter.targets.filter((target) => target.startsWith(view()))).toEqual(before);
    await alloc.destroy();
  });

  it.each([0, 1, 2])("leaves nothing when bind %i fails, and can be made afterwards", async (step) => {
    mounter.failingBind = step;
    const alloc = create();
    await expect(unveiled(alloc)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_IO", path: "web" });
    expect(mounter.targets.filter((target) => target.startsWith(view()))).toEqual([]);
    expect(existsSync(view())).toBe(false);
    await alloc.getTaskDir("web")?.build({ isolation: "unveil", user: self });
    expect(mounter.targets.filter((target) => target.startsWith(view()))).toHaveLength(3);
    await alloc.destroy();
  });

  it("is not made through a link in its place, and says so", async () => {
    const alloc = create();
    await alloc.build();
    mkdirSync(join(home, "outside"));
    symlinkSync(join(home, "outside"), view());
    await expect(unveiled(alloc)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY" });
    expect(statSync(join(home, "outside")).mode & 0o777).not.toBe(0o710);
  });

  it("comes back before the next start when its mounts were lost, for the user it was made for", async () => {
    const alloc = create();
    const task = await unveiled(alloc);
    mounter.mounts.length = 0;
    mounter.calls.length = 0;
    const after = create().newTaskDir({ name: "web" });
    await after.makeSecretsDirs();
    expect(mounter.calls).toEqual(["tmpfs secrets 1", "tmpfs private 1", "bind web", "bind alloc", "bind secrets"]);
    await task.unmount();
    mounter.calls.length = 0;
    await after.makeSecretsDirs();
    expect(mounter.calls).toEqual(["tmpfs secrets 1", "tmpfs private 1"]);
  });

  it("goes with all mounts at once, and files stay", async () => {
    const alloc = create();
    const task = await unveiled(alloc);
    writeFileSync(join(task.localDir, "kept"), "");
    await alloc.unmountAll();
    expect(mounter.targets).toEqual([]);
    expect(existsSync(view())).toBe(false);
    expect(existsSync(join(task.localDir, "kept"))).toBe(true);
    await alloc.destroy();
  });

  it("that stays busy keeps everything, with an error that may be tried again", async () => {
    const clock = new ManualClock();
    const alloc = create({ clock });
    const task = await unveiled(alloc);
    writeFileSync(join(task.localDir, "kept"), "");
    mounter.stuck = true;
    let ended = false;
    const done = alloc
      .destroy()
      .catch((reason: unknown) => reason)
      .finally(() => (ended = true));
    while (!ended) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1_000);
    }
    expect(await done).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_BUSY", recoverable: true });
    expect(existsSync(join(task.localDir, "kept"))).toBe(true);
    mounter.stuck = false;
    await alloc.destroy();
    expect(readdirSync(join(home, "mounts"))).toEqual([]);
  });

  it("is refused without root, a user, or an allocation; other isolations have none", async () => {
    const alloc = create({ asRoot: false });
    const task = alloc.newTaskDir({ name: "web" });
    await expect(task.build({ isolation: "none" })).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_BUILT" });
    await alloc.build();
    for (const user of [undefined, self])
      await expect(task.build({ isolation: "unveil", ...(user ? { user } : {}) })).rejects.toMatchObject({
        code: "ERR_OUTRIDER_ALLOCDIR_UNSUPPORTED_ISOLATION",
      });
    await task.build({ isolation: "none" });
    await task.makeSecretsDirs();
    await task.unmount();
    expect(existsSync(view())).toBe(false);
    rmSync(join(home, "mounts"), { recursive: true });
    await alloc.destroy();
    expect(() => create({ allocId: "../x" })).toThrow(
      expect.objectContaining({ code: "ERR_OUTRIDER_ALLOCDIR_BAD_NAME" }),
    );
  });

  it("is the directory itself where there are real ones", async () => {
    const alloc = create({ asRoot: false, realDirs: true });
    const task = await unveiled(alloc);
    expect(task).toMatchObject({ dir: view(), mountsTaskDir: view(), mountsAllocDir: alloc.shareDirPath });
    expect((await alloc.list("web")).map((entry) => entry.Name)).toEqual(["local", "private", "secrets", "tmp"]);
    await alloc.unmountAll();
    await task.unmount();
    expect(mounter.calls).toEqual([]);
    await alloc[Symbol.asyncDispose]();
    expect(readdirSync(join(home, "mounts"))).toEqual([]);
  });
});

describe("binding by the system's programs", () => {
  const table = (target: string, ...options: string[]): string =>
    options.map((one, i) => `${i} 1 0:1 / ${target} ${one} - ext4 x rw`).join("\n");

  /** Programs that only change the table. */
  function system(
    target: string,
    states: readonly string[],
  ): { calls: string[]; bind(readOnly?: boolean): Promise<void> } {
    const calls: string[] = [];
    let reads = 0;
    const made = createSystemMounter(
      (program, args) => {
        calls.push(
          [program, ...args]
            .join(" ")
            .replace(/\/proc\/\d+\/fd\/\d+/, "FD")
            .replaceAll(home, "HOME"),
        );
        return args[0] === "-c" ? Promise.reject(new Error("unknown option")) : Promise.resolve();
      },
      () => Promise.resolve(states[reads++] ?? ""),
    );
    return { calls, bind: (readOnly = false) => made.bind("/from", target, { readOnly }) };
  }

  it("sets flags by a second call and keeps those of the source", async () => {
    const s = system(home, ["", table(home, "rw,noexec,relatime"), table(home, "ro,nosuid,noexec,noatime")]);
    await s.bind(true);
    expect(s.calls).toEqual([
      "mount -c -o bind /from FD",
      "mount -o bind /from FD",
      "mount --make-private HOME",
      "mount -o remount,bind,noexec,nosuid,noatime,ro HOME",
    ]);
  });

  it("takes the mount off when a flag has no effect, and fails when nothing was mounted where it should", async () => {
    const s = system(home, ["", table(home, "rw"), table(home, "rw,noatime")]);
    await expect(s.bind()).rejects.toThrow("nosuid did not take effect");
    expect(s.calls.at(-1)).toBe("umount HOME");
    const gone = system(home, ["", table(home, "rw"), ""]);
    await expect(gone.bind()).rejects.toThrow("nosuid,noatime did not take effect");
    await expect(system(home, ["", ""]).bind()).rejects.toThrow("nothing was mounted");
    await expect(createSystemMounter(undefined, undefined).bind("/from", join(home, "none"))).rejects.toThrow("ENOENT");
  });
});
