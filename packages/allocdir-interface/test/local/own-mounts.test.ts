import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "@outrider/backoff/testing";
import type { AllocDir } from "../../src/index.ts";
import { createLocalAllocDir } from "../../src/local/index.ts";
import { runProgram } from "../../src/local/system-mounter.ts";
import { FakeMounter } from "../fake-mounter.ts";
import { ALLOC_ID, tempAlloc } from "../temp-alloc.ts";

// Whoever runs the tests takes the part of `nobody`, so that root's way through the code needs no root.
vi.mock("../../src/local/nobody.ts", async (original) => ({
  ...(await original<object>()),
  nobody: () => Promise.resolve({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }),
}));

afterEach(() => void vi.useRealTimers());

/** An allocation that goes root's way on mounts that exist only in a list. */
async function mounted(
  o: { clock?: ManualClock } = {},
): Promise<{ alloc: AllocDir; root: string; mounter: FakeMounter } & AsyncDisposable> {
  const base = await tempAlloc({ tasks: [] });
  const mounter = new FakeMounter();
  const alloc = createLocalAllocDir({ allocId: ALLOC_ID, root: base.root, asRoot: true, mounter, ...o });
  await alloc.build();
  await alloc.newTaskDir({ name: "web", secretsMB: 3 }).build({ isolation: "none" });
  return { alloc, root: base.root, mounter, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() };
}

describe("mounts of an allocation", () => {
  it("are made once a task for secrets and private, and taken off newest first by the task's unmount", async () => {
    await using t = await mounted();
    expect(t.mounter.calls).toEqual(["tmpfs secrets 3", "tmpfs private 1"]);
    t.mounter.calls.length = 0;
    await t.alloc.getTaskDir("web")?.unmount();
    expect(t.mounter.calls).toEqual(["unmount private", "unmount secrets"]);
    expect(statSync(join(t.alloc.allocDirPath, "web/secrets")).mode & 0o777).toBe(0o777);
  });

  it("are taken off before anything is deleted, deepest and newest first, stacked and unknown ones too", async () => {
    await using t = await mounted();
    const base = t.alloc.allocDirPath;
    t.mounter.add(join(base, "web/secrets"), join(base, "web/local/deep/er"), "/elsewhere");
    t.mounter.calls.length = 0;
    await t.alloc.destroy();
    expect(t.mounter.calls).toEqual(["unmount er", "unmount secrets", "unmount private", "unmount secrets"]);
    expect(t.mounter.targets).toEqual(["/elsewhere"]);
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("are waited for while busy, and detached in the end", async () => {
    const clock = new ManualClock();
    await using t = await mounted({ clock });
    t.mounter.busy.add(join(t.alloc.allocDirPath, "web/secrets"));
    const done = t.alloc.destroy();
    for (let i = 0; i < 50; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1000);
    }
    await done;
    expect(t.mounter.calls.at(-1)).toBe("unmount secrets lazy");
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("that cannot be taken off at all keep the whole tree, with an error that may be tried again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await using t = await mounted();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/kept"), "x");
    t.mounter.stuck = true;
    const done = t.alloc.destroy().catch((reason: unknown) => reason);
    let ended = false;
    void done.finally(() => (ended = true));
    while (!ended) {
      await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(await done).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_BUSY", recoverable: true });
    expect(existsSync(join(t.alloc.allocDirPath, "web/local/kept"))).toBe(true);
    t.mounter.stuck = false;
    await t.alloc.destroy();
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("are not looked for where a task's directory has become a file", async () => {
    await using t = await mounted();
    const dir = t.alloc.getTaskDir("web");
    rmSync(join(t.alloc.allocDirPath, "web"), { recursive: true });
    writeFileSync(join(t.alloc.allocDirPath, "web"), "");
    await expect(dir?.makeSecretsDirs()).rejects.toMatchObject({ code: expect.stringMatching(/NOT_?DIR/) as string });
  });
});

describe("destroying", () => {
  it("reports a root that is no directory any more, and finishes when it is back", async () => {
    await using t = await tempAlloc();
    renameSync(t.root, `${t.root}-aside`);
    writeFileSync(t.root, "");
    await expect(t.alloc.destroy()).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY" });
    rmSync(t.root);
    renameSync(`${t.root}-aside`, t.root);
    await t.alloc.destroy();
    expect(readdirSync(t.root)).toEqual([]);
  });

  it("needs no word on who runs it", async () => {
    await using t = await tempAlloc({ tasks: [] });
    const other = createLocalAllocDir({
      allocId: ALLOC_ID.replace("0a", "0b"),
      root: t.root,
      mounter: new FakeMounter(),
    });
    await other.build();
    mkdirSync(join(other.allocDirPath, "web"));
    await other.destroy();
    expect(readdirSync(t.root)).toEqual([ALLOC_ID]);
  });
});

describe("programs that mount", () => {
  it("are told apart by what they say: done, busy, or failed with whatever reason there is", async () => {
    await expect(runProgram("true", [])).resolves.toBeUndefined();
    await expect(runProgram("sh", ["-c", "echo target is busy >&2; exit 32"])).rejects.toMatchObject({
      code: "EBUSY",
      message: "sh: target is busy",
    });
    await expect(runProgram("false", [])).rejects.toMatchObject({
      code: "EIO",
      message: expect.stringContaining("false") as string,
    });
  });
});
