import assert from "node:assert/strict";
import type { FileChange } from "../../alloc-dir-fs.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

/** Polls of an implementation happen at most so far apart, in ms of its clock. */
const POLL_MS = 250;

interface Watch {
  readonly seen: FileChange[];
  /** Settles with the error, or undefined for an end without one. */
  readonly ended: Promise<unknown>;
  isOver(): boolean;
  stop(reason: Error): void;
}

function watch(t: CaseBench, path: string, curOffset: number): Watch {
  const stop = new AbortController();
  const seen: FileChange[] = [];
  let over = false;
  const ended = (async () => {
    for await (const change of t.alloc.changeEvents(path, curOffset, { signal: stop.signal })) seen.push(change);
  })()
    .catch((reason: unknown) => reason)
    .finally(() => (over = true));
  return { seen, ended, isOver: () => over, stop: (reason) => stop.abort(reason) };
}

async function endOf(t: CaseBench, w: Watch): Promise<unknown> {
  await t.until(() => w.isOver(), "the end of the watch");
  return w.ended;
}

/** Runs the body with a watch on `web/local/f` that has seen its first event. */
const watched = (
  id: string,
  title: string,
  run: (t: CaseBench, w: Watch) => Promise<void>,
  needs: ConformanceCase["needs"] = [],
): ConformanceCase => ({
  id: `changes/${id}`,
  title,
  needs,
  async run(t) {
    await t.hands.write("web/local/f", "0123456789");
    const w = watch(t, "web/local/f", 10);
    await t.until(() => w.seen.length > 0 || w.isOver(), "the first event");
    try {
      await run(t, w);
    } finally {
      w.stop(new Error("the case is over"));
      await w.ended;
    }
  },
});

const waiting = (t: CaseBench, path: string): { stop: AbortController; done: Promise<unknown>; isOver(): boolean } => {
  const stop = new AbortController();
  let over = false;
  const done = t.alloc
    .blockUntilExists(path, { signal: stop.signal })
    .catch((reason: unknown) => reason)
    .finally(() => (over = true));
  return { stop, done, isOver: () => over };
};

/** blockUntilExists and changeEvents. */
export const WATCH_CASES: readonly ConformanceCase[] = [
  {
    id: "wait/is-there-already",
    title: "what exists is not waited for",
    async run(t) {
      await t.hands.write("web/local/f", "x");
      await t.within(t.alloc.blockUntilExists("web/local/f", { signal: AbortSignal.timeout(5_000) }), "wait");
      await t.within(t.alloc.blockUntilExists("/", { signal: AbortSignal.timeout(5_000) }), "wait");
    },
  },
  {
    id: "wait/comes-later",
    title: "a wait ends when the file is there, also below folders that were missing",
    async run(t) {
      for (const path of ["web/local/f", "web/local/a/b/c"]) {
        const w = waiting(t, path);
        await t.pause(POLL_MS * 2);
        ok(!w.isOver(), "the wait ended early");
        const parent = path.slice(0, path.lastIndexOf("/"));
        await t.hands.mkdir(parent);
        await t.pause(POLL_MS * 2);
        ok(!w.isOver(), "the wait ended with a parent");
        await t.hands.write(path, "x");
        assert.equal(await t.within(w.done, "wait", 2_000), undefined);
      }
    },
  },
  {
    id: "wait/abort",
    title: "a wait ends with the signal's reason, at once, before or meanwhile",
    async run(t) {
      const reason = new Error("enough");
      await assert.rejects(t.alloc.blockUntilExists("web/local/f", { signal: AbortSignal.abort(reason) }), reason);
      const w = waiting(t, "web/local/f");
      await t.pause(POLL_MS);
      w.stop.abort(reason);
      assert.equal(await t.within(w.done, "wait", 1_000), reason);
    },
  },
  {
    id: "wait/becomes-an-escape",
    title: "a path that begins to lead outside ends the wait with that error",
    needs: ["symlinks"],
    async run(t) {
      const w = waiting(t, "web/local/d/canary");
      await t.pause(POLL_MS);
      await t.hands.symlink(t.outside, "web/local/d");
      const error = await t.within(w.done, "wait", 2_000);
      assert.equal((error as { code?: string }).code, "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES");
    },
  },
  {
    id: "wait/link-to-nothing-yet",
    title: "a link inside to nothing is waited for until there is something",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("later", "web/local/link");
      const w = waiting(t, "web/local/link");
      await t.pause(POLL_MS * 2);
      ok(!w.isOver());
      await t.hands.write("web/local/later", "x");
      assert.equal(await t.within(w.done, "wait", 2_000), undefined);
    },
  },
  {
    id: "wait/destroy",
    title: "a destroy ends waits",
    async run(t) {
      const w = waiting(t, "web/local/f");
      await t.pause(POLL_MS);
      await t.alloc.destroy();
      const error = await t.within(w.done, "wait", 2_000);
      assert.equal((error as { code?: string } | undefined)?.code, "ERR_OUTRIDER_ALLOCDIR_DESTROYED");
    },
  },
  watched("first-at-once", "the first look tells that there is something", async (_t, w) => {
    assert.deepEqual(w.seen, ["modified"]);
    await Promise.resolve();
  }),
  watched("silent", "nothing is told while nothing happens", async (t, w) => {
    await t.pause(POLL_MS * 4);
    assert.deepEqual(w.seen, ["modified"]);
  }),
  watched("growth", "a growing file is told of, each time", async (t, w) => {
    for (let i = 2; i < 4; i++) {
      await t.hands.append("web/local/f", "more");
      await t.until(() => w.seen.length === i, "the event");
    }
    assert.deepEqual(w.seen, ["modified", "modified", "modified"]);
  }),
  watched("touched", "a file with other content of the same size is told of", async (t, w) => {
    await t.hands.touch("web/local/f", 1_600_000_000_000);
    await t.until(() => w.seen.length === 2, "the event");
    assert.equal(w.seen[1], "modified");
  }),
  watched("truncation", "a file that became shorter is told of as truncated, and watched on", async (t, w) => {
    await t.hands.truncate("web/local/f", 3);
    await t.until(() => w.seen.includes("truncated"), "truncated");
    await t.hands.append("web/local/f", "x");
    await t.until(() => w.seen.at(-1) === "modified", "modified");
    ok(!w.isOver());
  }),
  watched("deletion", "deletion is told, and is the end", async (t, w) => {
    await t.hands.remove("web/local/f");
    assert.equal(await endOf(t, w), undefined);
    assert.equal(w.seen.at(-1), "deleted");
  }),
  watched("replacement", "another file under the name is the end of the first one", async (t, w) => {
    await t.hands.write("web/local/g", "0123456789");
    await t.hands.rename("web/local/g", "web/local/f");
    assert.equal(await endOf(t, w), undefined);
    assert.equal(w.seen.at(-1), "deleted");
  }),
  watched(
    "parent-becomes-a-file",
    "a folder on the way that becomes a file ends the watch, and nothing else",
    async (t, w) => {
      await t.hands.rename("web/local", "web/aside");
      await t.hands.write("web/local", "now a file");
      const error = await endOf(t, w);
      ok(w.seen.at(-1) === "deleted" || (error as { code?: string }).code === "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY");
      assert.equal((await t.alloc.stat("web/local")).Size, 10);
    },
  ),
  watched(
    "name-becomes-a-loop",
    "a name that becomes a circle of links ends the watch, and nothing else",
    async (t, w) => {
      await t.hands.remove("web/local/f");
      await t.hands.symlink("f", "web/local/f");
      const error = await endOf(t, w);
      ok(w.seen.at(-1) === "deleted" || (error as { code?: string }).code === "ERR_OUTRIDER_ALLOCDIR_LOOP");
      ok((await t.alloc.stat("web/local")).IsDir);
    },
    ["symlinks"],
  ),
  watched(
    "name-begins-to-escape",
    "a name that begins to lead outside shows nothing from there",
    async (t, w) => {
      await t.hands.rename("web/local", "web/aside");
      await t.hands.symlink(t.outside, "web/local");
      const error = await endOf(t, w);
      ok(w.seen.at(-1) === "deleted" || (error as { code?: string }).code === "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES");
    },
    ["symlinks"],
  ),
  watched("abort", "a watch ends with the signal's reason, at once", async (t, w) => {
    const reason = new Error("enough");
    w.stop(reason);
    assert.equal(await t.within(w.ended, "watch", 1_000), reason);
  }),
  watched("destroy", "a destroy ends watches", async (t, w) => {
    await t.alloc.destroy();
    const error = await endOf(t, w);
    ok(w.seen.at(-1) === "deleted" || (error as { code?: string }).code === "ERR_OUTRIDER_ALLOCDIR_DESTROYED");
  }),
  {
    id: "changes/missing",
    title: "a missing file cannot be watched",
    async run(t) {
      const events = t.alloc.changeEvents("web/local/f", 0, { signal: AbortSignal.timeout(5_000) });
      await refused(() => events[Symbol.asyncIterator]().next(), "NOT_FOUND", "changeEvents");
    },
  },
  {
    id: "changes/several-watchers",
    title: "several watchers of a file hear all of it; one that leaves disturbs no other",
    async run(t) {
      await t.hands.write("web/local/f", "0123456789");
      const watches = Array.from({ length: 10 }, () => watch(t, "web/local/f", 10));
      await t.until(() => watches.every((w) => w.seen.length === 1), "first events");
      watches[0]?.stop(new Error("one leaves"));
      await watches[0]?.ended;
      await t.hands.append("web/local/f", "more");
      await t.until(() => watches.slice(1).every((w) => w.seen.length === 2), "second events");
      await t.hands.remove("web/local/f");
      for (const w of watches.slice(1)) assert.equal(await endOf(t, w), undefined);
    },
  },
  {
    id: "changes/break-releases",
    title: "a loop that is left early leaves nothing behind",
    async run(t) {
      await t.hands.write("web/local/f", "x");
      for (let i = 0; i < 5; i++) {
        for await (const change of t.alloc.changeEvents("web/local/f", 1, { signal: AbortSignal.timeout(5_000) })) {
          assert.equal(change, "modified");
          break;
        }
      }
    },
  },
  {
    id: "changes/truncated-before",
    title: "a file shorter than what the caller knows is truncated",
    async run(t) {
      await t.hands.write("web/local/f", "abc");
      const w = watch(t, "web/local/f", 10);
      await t.until(() => w.seen.length > 0 || w.isOver(), "the first event");
      w.stop(new Error("the case is over"));
      await w.ended;
      ok(w.seen.includes("truncated"), w.seen.join());
    },
  },
  {
    id: "changes/bad-paths",
    title: "watching is refused where reading is",
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      for (const path of ["../x", "web/secrets/token"]) {
        const events = t.alloc.changeEvents(path, 0, { signal: AbortSignal.timeout(5_000) });
        await failureOf(() => events[Symbol.asyncIterator]().next(), path);
      }
    },
  },
];
