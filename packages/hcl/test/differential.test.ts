import { describe, expect, it, vi } from "vitest";
import { compare, compareMutants, jobFiles, summary } from "./differential.ts";

// The machine may be busy: time is no part of what is tested here.
vi.setConfig({ testTimeout: 60_000 });

describe("the official parser", () => {
  it("gives the same values for every job file", async () => {
    for (const { name, text } of jobFiles())
      expect({ name, ...(await compare(text)), text: "" }).toEqual({ name, kind: "same", detail: "", text: "" });
  });

  // The whole of 2,000 mutants is scripts/differential.mjs.
  it("accepts and refuses the same mutants, at the same lines", async () => {
    const s = summary(await compareMutants(400, 42));
    expect(s.invalid).toBeGreaterThan(200);
    expect(s.values).toBe(0);
    expect(s.acceptance).toBeGreaterThanOrEqual(0.997);
    expect(s.line).toBeGreaterThanOrEqual(0.98);
  });
});
