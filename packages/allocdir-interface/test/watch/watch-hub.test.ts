import { ManualClock } from "@outrider/backoff/testing";
import { setMaxListeners } from "node:events";
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AllocDirError, taskLogs } from "../../src/index.ts";
import { LocalFileApi } from "../../src/local/file-api.ts";
import { Changes } from "../../src/watch/changes.ts";
import { DirWatches, dirWatches } from "../../src/watch/dir-watches.ts";
import { MIN_GAP_MS, NET_MS, POLL_MS, WatchHub, type Look } from "../../src/watch/watch-hub.ts";
import { tempAlloc } from "../temp-alloc.ts";

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** A path in memory: what it means is set by the test. */
function fakePath(hinted = false): {
  hub: WatchHub;
  clock: ManualClock;
  state: { look: Look | undefined; failure: unknown; looks: number; hints: number; alive: boolean };
  wake: () => void;
  set: (size: number, o?: { identity?: string; mtimeNs?: bigint }) => void;
} {
  const clock = new ManualClock();
  const state = { look: undefined as Look | undefined, failure: undefined as unknown, looks: 0, hints: 0, alive: true };
  let wake: () => void = () => undefined;
  const hub = new WatchHub({
    clock,
    look: () => {
      state.looks++;
      return state.failure === undefined ? Promise.resolve(state.look) : Promise.reject(state.failure as Error);
    },
    ...(hinted
      ? {
          hint: (_path: string, fn: () => void) => {
            wake = fn;
            state.hints++;
            return Promise.resolve({
              get alive() {
                return state.alive;
              },
              [Symbol.dispose]: () => void state.hints--,
            });
          },
        }
      : {}),
  });
  let time = 0n;
  return {
    hub,
    clock,
    state,
    wake: () => wake(),
    set: (size, o = {}) => (state.look = { identity: o.identity ?? "1", size, mtimeNs: o.mtimeNs ?? ++time }),
  };
}

function collect(events: AsyncIterable<string>): { seen: string[]; ended: Promise<unknown> } {
  const seen: string[] = [];
  const ended = (async () => {
    for await (const event of events) seen.push(event);
  })().then(
    () => "ended",
    (reason: unknown) => reason,
  );
  return { seen, ended };
}

const never = new AbortController().signal;
setMaxListeners(0, never);

/** One that any number of followers may share. */
function manyListen(): AbortController {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}

describe("changes of a file", () => {
  it("tells of growth, of cutting and of a new time, once each, and of the end", async () => {
    const f = fakePath();
    f.set(3);
    const { seen, ended } = collect(f.hub.changeEvents("f", 3, { signal: never }));
    await turns();
    // The first event comes at once: the time of the last change was not known.
    expect(seen.splice(0)).toEqual(["modified"]);
    for (const [size, expected] of [
      [9, "modified"],
      [2, "truncated"],
      [2, "modified"],
    ] as const) {
      f.set(size);
      await f.clock.advance(POLL_MS);
      await turns();
      expect(seen.pop()).toBe(expected);
    }
    await f.clock.advance(4 * POLL_MS);
    await turns();
    expect(seen).toEqual([]);
    f.state.look = undefined;
    await f.clock.advance(POLL_MS);
    expect(await ended).toBe("ended");
    expect(seen).toEqual(["deleted"]);
    expect([f.hub.watches, f.clock.pending.length]).toEqual([0, 0]);
  });

  it("takes another file under the name for a deletion", async () => {
    const f = fakePath();
    f.set(3);
    const { seen, ended } = collect(f.hub.changeEvents("f", 0, { signal: never }));
    await turns();
    f.set(3, { identity: "2" });
    await f.clock.advance(POLL_MS);
    expect(await ended).toBe("ended");
    expect(seen).toEqual(["modified", "deleted"]);
  });

  it("tells what nobody took meanwhile once a kind", async () => {
    const f = fakePath();
    f.set(3);
    const events = f.hub.changeEvents("f", 3, { signal: never });
    expect((await events.next()).value).toBe("modified");
    for (const size of [5, 7, 1, 4]) {
      f.set(size);
      await f.clock.advance(POLL_MS);
      await turns();
    }
    expect([(await events.next()).value, (await events.next()).value]).toEqual(["modified", "truncated"]);
    const waiting = events.next();
    f.set(9);
    await f.clock.advance(POLL_MS);
    expect((await waiting).value).toBe("modified");
    await events.return();
    await f.clock.advance(POLL_MS);
    await turns();
    expect(f.hub.watches).toBe(0);
  });

  it("needs something at the path, ends with any failure of the look, and with the signal", async () => {
    const f = fakePath();
    expect(await collect(f.hub.changeEvents("f", 0, { signal: never })).ended).toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND",
    });
    f.set(1);
    const stop = new AbortController();
    const one = collect(f.hub.changeEvents("f", 0, { signal: stop.signal }));
    const two = collect(f.hub.changeEvents("f", 0, { signal: never }));
    await turns();
    stop.abort(new Error("enough"));
    expect(await one.ended).toMatchObject({ message: "enough" });
    f.state.failure = new AllocDirError("NOT_DIRECTORY", "not a directory", "f");
    await f.clock.advance(POLL_MS);
    expect(await two.ended).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY" });
    expect([f.hub.watches, f.clock.pending.length]).toEqual([0, 0]);
    await expect(f.hub.changeEvents("f", 0, { signal: AbortSignal.abort(new Error("no")) }).next()).rejects.toThrow(
      "no",
    );
    await expect(f.hub.blockUntilExists("f", { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
  });

  it("looks once for 200 followers of a path, from a look that began after they came", async () => {
    const f = fakePath();
    f.set(100);
    const stop = manyListen();
    const all = Array.from({ length: 200 }, () => collect(f.hub.changeEvents("f", 100, { signal: stop.signal })));
    await turns();
    expect(f.hub.watches).toBe(1);
    const before = f.state.looks;
    f.set(150);
    await f.clock.advance(POLL_MS);
    await turns();
    expect(f.state.looks - before).toBeLessThanOrEqual(2);
    expect(all.every((one) => one.seen.join() === "modified,modified")).toBe(true);
    stop.abort();
    await turns();
    expect([f.hub.watches, f.clock.pending.length]).toEqual([0, 0]);
  });
});

describe("a hint of the system", () => {
  it("brings the look forward, but not more often than the shortest gap, and polls rarely beside it", async () => {
    const f = fakePath(true);
    f.set(1);
    const { seen } = collect(f.hub.changeEvents("f", 1, { signal: never }));
    await turns();
    expect(f.state.hints).toBe(1);
    await f.clock.advance(MIN_GAP_MS);
    const before = f.state.looks;
    for (let i = 0; i < 100; i++) f.wake();
    await turns();
    expect(f.state.looks).toBe(before + 1);
    for (let i = 0; i < 100; i++) f.wake();
    await turns();
    expect(f.state.looks).toBe(before + 1);
    await f.clock.advance(MIN_GAP_MS);
    await turns();
    expect(f.state.looks).toBe(before + 2);
    await f.clock.advance(NET_MS - 1);
    await turns();
    expect(f.state.looks).toBe(before + 2);
    f.set(2);
    await f.clock.advance(1);
    await turns();
    expect(seen).toEqual(["modified", "modified"]);
    // One that has died is asked for anew.
    f.state.alive = false;
    await f.clock.advance(NET_MS);
    await turns();
    f.state.alive = true;
    f.hub.end(new Error("over"));
    await turns();
    expect(f.state.hints).toBe(0);
  });

  it("comes from the kernel for files and directories of an allocation, and costs one watch a directory", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    const watches = new DirWatches();
    const api = new LocalFileApi({ path: t.alloc.allocDirPath, ended: () => never, watches, clock: new ManualClock() });
    for (const name of ["a", "b"]) writeFileSync(join(local, name), "x");
    const stop = manyListen();
    const { signal } = stop;
    const all = Array.from({ length: 200 }, () => collect(api.changeEvents("web/local/a", 1, { signal })));
    const other = collect(api.changeEvents("web/local/b", 1, { signal }));
    const dir = collect(api.changeEvents("web/local", 0, { signal }));
    const until = async (ok: () => boolean): Promise<void> => {
      for (let i = 0; i < 3000 && !ok(); i++) await new Promise((resolve) => setTimeout(resolve, 1));
      expect(ok()).toBe(true);
    };
    await until(() => watches.size === 1 && all.every((one) => one.seen.length === 1) && dir.seen.length === 1);
    stop.abort();
    await Promise.all([...all, other, dir].map((one) => one.ended));
    await until(() => watches.size === 0);
  });

  it("is not needed: beyond its limit, and where the kernel gives none, paths are polled", async () => {
    await using t = await tempAlloc();
    const none = new DirWatches(0);
    const stats = lstatSync(t.root, { bigint: true });
    expect(await none.listen(t.root, stats, undefined, () => undefined)).toBeUndefined();
    expect(await dirWatches.listen(join(t.root, "nothing"), stats, undefined, () => undefined)).toBeUndefined();
    const procStats = lstatSync("/proc", { bigint: true });
    const two = new DirWatches(1);
    const [a, b] = await Promise.all([
      two.listen("/proc", procStats, undefined, () => undefined),
      two.listen("/proc", procStats, "x", () => undefined),
    ]);
    expect([two.size, a?.alive, b?.alive]).toEqual([1, true, true]);
    a?.[Symbol.dispose]();
    expect(two.size).toBe(1);
    b?.[Symbol.dispose]();
    b?.[Symbol.dispose]();
    expect([two.size, b?.alive]).toEqual([0, false]);
  });
});

describe("watching an allocation", () => {
  it("wakes up at once for what is written, cut, replaced and removed, with no clock at all", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const path = join(t.alloc.allocDirPath, "web/local/f");
    writeFileSync(path, "12345");
    const events = t.alloc.changeEvents("web/local/f", 5, { signal: never })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => {
      let done = false;
      const waiting = events.next().finally(() => (done = true));
      for (let i = 0; i < 3000 && !done; i++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        // Less than any poll: only the gap between two looks may pass.
        if (i % 20 === 0) await clock.advance(MIN_GAP_MS);
      }
      return (await waiting).value;
    };
    expect(await next()).toBe("modified");
    appendFileSync(path, "6");
    expect(await next()).toBe("modified");
    truncateSync(path, 1);
    expect(await next()).toBe("truncated");
    utimesSync(path, 1, 1);
    expect(await next()).toBe("modified");
    writeFileSync(`${path}2`, "x");
    renameSync(`${path}2`, path);
    expect(await next()).toBe("deleted");
    expect(await next()).toBeUndefined();
  });

  it("blocks until there is something, through missing parents, and judges the path anew each time", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const local = join(t.alloc.allocDirPath, "web/local");
    const settle = async (waiting: Promise<unknown>): Promise<unknown> => {
      let done = false;
      void waiting.then(
        () => (done = true),
        () => (done = true),
      );
      for (let i = 0; i < 3000 && !done; i++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        await clock.advance(MIN_GAP_MS);
      }
      return waiting;
    };
    await t.alloc.blockUntilExists("web/local", { signal: never });
    const deep = t.alloc.blockUntilExists("web/local/a/b/c", { signal: never });
    await turns();
    mkdirSync(join(local, "a/b"), { recursive: true });
    writeFileSync(join(local, "a/b/c"), "");
    await settle(deep);
    const escaping = t.alloc.blockUntilExists("web/local/later", { signal: never });
    await turns();
    symlinkSync("/etc/passwd", join(local, "later"));
    await expect(settle(escaping)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES" });
    await expect(t.alloc.blockUntilExists("../x", { signal: never })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES",
    });
    const stop = new AbortController();
    const waiting = t.alloc.blockUntilExists("web/local/none", { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await settle(Promise.resolve());
    expect(clock.pending.length).toBe(0);
  });

  it("ends when the allocation is destroyed", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/f"), "x");
    const events = collect(t.alloc.changeEvents("web/local/f", 0, { signal: never }));
    const waiting = t.alloc.blockUntilExists("web/local/none", { signal: never });
    const failed = expect(waiting).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_DESTROYED" });
    await t.alloc.destroy();
    await failed;
    expect(await events.ended).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_DESTROYED" });
  });

  it("ends with an error when a parent becomes a file (a stock agent ends as a whole)", async () => {
    await using t = await tempAlloc();
    const dir = join(t.alloc.allocDirPath, "web/local/d");
    mkdirSync(dir);
    writeFileSync(join(dir, "f"), "x");
    const events = collect(t.alloc.changeEvents("web/local/d/f", 0, { signal: never }));
    rmSync(dir, { recursive: true });
    writeFileSync(dir, "");
    expect(await events.ended).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY" });
  });

  it("makes 200 followers of one log cost two looks and one watch of the kernel", async () => {
    await using t = await tempAlloc();
    const logs = join(t.alloc.allocDirPath, "alloc/logs");
    writeFileSync(join(logs, "web.stdout.0"), "a\n");
    const stop = manyListen();
    const watches = new DirWatches();
    const api = new LocalFileApi({ path: t.alloc.allocDirPath, ended: () => never, watches });
    const request = { task: "web", type: "stdout", offset: 0, origin: "start", follow: true } as const;
    const texts = Array.from({ length: 200 }, () => "");
    const ended = texts.map(async (_, i) => {
      for await (const frame of taskLogs(api, request, { signal: stop.signal }))
        texts[i] += Buffer.from(frame.data ?? []).toString();
    });
    const until = async (text: string): Promise<void> => {
      for (let i = 0; i < 5000 && !texts.every((one) => one === text); i++)
        await new Promise((resolve) => setTimeout(resolve, 1));
      expect(texts.every((one) => one === text)).toBe(true);
    };
    await until("a\n");
    appendFileSync(join(logs, "web.stdout.0"), "b\n");
    await until("a\nb\n");
    // The log and its folder, which gets the next one.
    expect([watches.size, api.hub.watches]).toEqual([1, 2]);
    stop.abort();
    await Promise.allSettled(ended);
    for (let i = 0; i < 1000 && watches.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect([watches.size, api.hub.watches]).toEqual([0, 0]);
  });
});

describe("waiting for changes", () => {
  it("rejects at once when its signal was aborted before, and lets everything go when closed", async () => {
    await using t = await tempAlloc();
    const late = new Changes(t.alloc, { dir: "alloc/logs", signal: AbortSignal.abort(new Error("late")) });
    await expect(late.next()).rejects.toThrow("late");
    const changes = new Changes(t.alloc, { file: "web/local/none", dir: "alloc/none", signal: never });
    await expect(
      (async () => {
        for (;;) await changes.next();
      })(),
    ).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND" });
    for (let i = 0; i < 1000 && !changes.deleted; i++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(changes.deleted).toBe(true);
    changes.close();
  });
});
