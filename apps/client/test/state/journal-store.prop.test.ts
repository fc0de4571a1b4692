import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { openJournalStore } from "../../src/state/journal-store.ts";
import { FaultyFs } from "./faulty-fs.ts";

/** Thousands of syncs: in memory where there is such a folder, since what is tested is order and not the disk. */
const BASE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

const key = fc.constantFrom("a", "a/b", "a/b/c", "b", "b/x", "__proto__", "constructor");
const batch = fc.record({
  put: fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  delete: fc.array(key, { maxLength: 2 }),
  deletePrefix: fc.array(fc.constantFrom("a/", "b", "zz"), { maxLength: 1 }),
  urgent: fc.boolean(),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("write" as const), batch }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("full" as const), room: fc.integer({ min: 0, max: 300 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("room" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("failWrite" as const, "failSync" as const) }) },
);

it("takes a refused write off again when neither a sync nor a new journal was possible", async () => {
  const dir = mkdtempSync(join(BASE, "outrider-state-prop-"));
  const fs = new FaultyFs();
  const store = await openJournalStore({ dir, fs, compactAboveBytes: 500, reserveBytes: 256 });
  fs.failSyncs = 1;
  fs.capacity = fs.used + 41;
  await expect(store.write({ put: { a: 0 } })).rejects.toMatchObject({
    code: expect.stringMatching(/^ERR_OUTRIDER_STATE/),
  });
  await store[Symbol.asyncDispose]();
  const again = await openJournalStore({ dir });
  expect(again.list("")).toEqual([]);
  await again[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

it("holds exactly the acknowledged writes through full disks, disk errors and reopens", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const dir = mkdtempSync(join(BASE, "outrider-state-prop-"));
      const fs = new FaultyFs();
      const options = { dir, fs, compactAboveBytes: 500, reserveBytes: 256 };
      const model = createMemoryStore();
      let store = await openJournalStore(options);
      try {
        for (const s of steps) {
          if (s.kind === "full") fs.capacity = fs.used + s.room;
          else if (s.kind === "room") fs.capacity = Number.POSITIVE_INFINITY;
          else if (s.kind === "failWrite") fs.failWrites = 1;
          else if (s.kind === "failSync") fs.failSyncs = 1;
          else if (!("batch" in s)) {
            await store[Symbol.asyncDispose]();
            store = await openJournalStore({ dir });
            await store[Symbol.asyncDispose]();
            fs.failSyncs = fs.failWrites = 0;
            fs.capacity = Number.POSITIVE_INFINITY;
            store = await openJournalStore(options);
          } else {
            const ok = await store.write(s.batch).then(
              () => true,
              () => false,
            );
            if (ok) await model.write(s.batch);
          }
          expect(store.list("")).toEqual(model.list(""));
        }
        await store[Symbol.asyncDispose]();
        store = await openJournalStore({ dir });
        expect(store.list("")).toEqual(model.list(""));
        expect(store.quarantined).toEqual([]);
      } finally {
        await store[Symbol.asyncDispose]();
        rmSync(dir, { recursive: true, force: true });
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);
