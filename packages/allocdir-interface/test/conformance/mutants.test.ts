import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { runMutants } from "./run-mutants.ts";

it("each known fault has a place in the sources, once", () => {
  expect(new Set(MUTANTS.map(({ id }) => id)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(60);
  const lost = MUTANTS.filter(
    ({ file, find }) => readFileSync(join(import.meta.dirname, "../../src", file), "utf8").split(find).length !== 2,
  );
  expect(lost.map(({ id }) => id)).toEqual([]);
});

// All of them are tried by the nightly script.
it("the suite notices a sample of them", { timeout: 120_000 }, async () => {
  const sample = ["dots-not-counted", "dotdot-is-a-task", "end-replays", "memory-hard-links", "memory-readers-live-on"];
  const results = await runMutants(MUTANTS.filter(({ id }) => sample.includes(id)));
  expect(results.filter(({ by }) => by === undefined)).toEqual([]);
  expect(results.length).toBe(sample.length);
});
