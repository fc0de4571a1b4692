import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHookResources } from "../src/index.ts";

const turns = async (n: number) => {
  for (let i = 0; i < n; i++) await Promise.resolve();
};

describe("interleaved writers", () => {
  const op = fc.record({
    kind: fc.constantFrom("update", "slow", "set", "fail", "abort"),
    before: fc.nat({ max: 6 }),
    inside: fc.nat({ max: 6 }),
    key: fc.constantFrom("a", "b"),
  });

  it("no write is lost, doubled or reordered against its own key's queue, whatever the interleaving", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 30 }), async (ops) => {
        const store = createHookResources({ a: [] as number[], b: [] as number[] });
        const expected = { a: new Set<number>(), b: new Set<number>() };
        await Promise.all(
          ops.map(async ({ kind, before, inside, key }, id) => {
            const k = key as "a" | "b";
            await turns(before);
            if (kind === "set") {
              store.set(k, [...store.get(k), id]);
              expected[k].add(id);
            } else if (kind === "fail") {
              await expect(store.update(k, () => Promise.reject(new Error("x")))).rejects.toThrow("x");
            } else if (kind === "abort") {
              const stop = new AbortController();
              const done = store.update(k, async (v) => (await turns(inside), [...v, id]), { signal: stop.signal });
              await turns(inside);
              stop.abort();
              await done.then(
                () => expected[k].add(id),
                () => undefined,
              );
            } else {
              const got = await store.update(k, async (v) => (kind === "slow" && (await turns(inside)), [...v, id]));
              expect(got).toContain(id);
              expected[k].add(id);
            }
          }),
        );
        await turns(20);
        for (const k of ["a", "b"] as const) {
          expect([...store.get(k)].toSorted((x, y) => x - y)).toEqual([...expected[k]].toSorted((x, y) => x - y));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("copies", () => {
  it("any JSON-like value comes back equal, frozen, and without a live part", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withMap: true,
          withSet: true,
          withDate: true,
          withTypedArray: true,
          withBigInt: true,
          withNullPrototype: true,
        }),
        (value) => {
          const store = createHookResources({ v: value });
          expect(store.get("v")).toEqual(value);
          expect(anyLive(store.get("v"), value)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });
});

function anyLive(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null) return false;
  if (a === b) return true;
  if (ArrayBuffer.isView(a) || a instanceof Date) return false;
  if (!Object.isFrozen(a)) return true;
  if (a instanceof Map || a instanceof Set) {
    const theirs = [...(b as Set<unknown>)];
    return [...a].some((part, i) =>
      a instanceof Map ? anyLive((part as unknown[])[1], (theirs[i] as unknown[])[1]) : anyLive(part, theirs[i]),
    );
  }
  return Object.keys(a).some((key) =>
    anyLive((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}
