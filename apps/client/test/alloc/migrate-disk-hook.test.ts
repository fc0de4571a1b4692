import type { MigrationOutcome } from "@outrider/alloc-runner";
import { noopLogger } from "@outrider/foundation";
import { describe, expect, it } from "vitest";
import { awaitPreviousHook } from "../../src/alloc/hooks/await-previous-hook.ts";
import { migrateDiskHook } from "../../src/alloc/hooks/migrate-disk-hook.ts";
import { createMemoryStore } from "../../src/state/index.ts";
import { fakeAllocDir } from "./support/fake-alloc-dir.ts";

const never = new AbortController().signal;

function hook(o: { migrate?: () => Promise<MigrationOutcome | undefined>; started?: boolean }): {
  run: (signal?: AbortSignal) => Promise<void>;
  told: string[];
  log: readonly string[];
} {
  const told: string[] = [];
  const allocDir = fakeAllocDir("a");
  const one = migrateDiskHook({
    prevAllocs: {
      wait: () => Promise.resolve(),
      isWaiting: () => false,
      ...(o.migrate === undefined ? {} : { migrate: o.migrate }),
    },
    allocDir,
    state: createMemoryStore(),
    key: "allocations/a/disk_decided",
    hasStarted: () => o.started ?? false,
    tell: (text) => told.push(text),
    logger: noopLogger,
  });
  return { run: (signal = never) => one.prerun?.({} as never, signal) as Promise<void>, told, log: allocDir.log };
}

describe("the hook that takes over a disk", () => {
  it("decides once, and tells what came out", async () => {
    let calls = 0;
    const h = hook({ migrate: () => Promise.resolve({ migrated: true, text: `taken over ${++calls}` }) });
    await h.run();
    // A client that was killed right after it finds the decision in its state.
    await h.run();
    expect([h.told, h.log]).toEqual([["taken over 1"], []]);
    const nothing = hook({ migrate: () => Promise.resolve(undefined) });
    await nothing.run();
    expect(nothing.told).toEqual([]);
    await hook({}).run();
  });

  it("starts with an empty disk where it fails, and never touches one that a task has used", async () => {
    const failed = hook({ migrate: () => Promise.reject(new Error("gone")) });
    await failed.run();
    expect([failed.told, failed.log]).toEqual([["Ephemeral disk starts empty: gone"], ["destroy", "build"]]);
    const odd = hook({ migrate: () => Promise.reject("odd" as unknown as Error) });
    await odd.run();
    expect(odd.told).toEqual(["Ephemeral disk starts empty: odd"]);
    const used = hook({ started: true, migrate: () => Promise.reject(new Error("gone")) });
    await used.run();
    expect([used.told, used.log]).toEqual([[], []]);
  });

  it("passes an abort on, and decides nothing then", async () => {
    const stop = new AbortController();
    const h = hook({
      migrate: () => {
        stop.abort(new Error("enough"));
        return Promise.reject(new Error("broken off"));
      },
    });
    await expect(h.run(stop.signal)).rejects.toThrow("enough");
    expect([h.told, h.log]).toEqual([[], []]);
  });
});

describe("the hook that waits for the previous allocation", () => {
  it("does so unless a task has run before", async () => {
    let waits = 0;
    const prevAllocs = { wait: () => Promise.resolve(void waits++), isWaiting: () => false };
    await awaitPreviousHook({ prevAllocs, hasStarted: () => true }).prerun?.({} as never, never);
    expect(waits).toBe(0);
    await awaitPreviousHook({ prevAllocs, hasStarted: () => false }).prerun?.({} as never, never);
    expect(waits).toBe(1);
  });
});
