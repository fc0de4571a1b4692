import fc from "fast-check";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createHookTelemetry, createMemorySink, HOOK_KINDS, type HookKind } from "../src/index.ts";
import { createPromClientSink } from "../src/prom-client/index.ts";
import { statsdLine } from "../src/statsd/statsd-line.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const labels = fc.dictionary(text, text, { maxKeys: 6 });
const kinds = Object.keys(HOOK_KINDS) as HookKind[];

describe("any sequence of hooks", () => {
  const run = fc.record({
    hook: text,
    kind: fc.constantFrom(...kinds),
    fails: fc.boolean(),
    labels,
    took: fc.double({ min: -1e6, max: 1e9, noNaN: true }),
  });

  it("gives one duration and one count for each measured run, and nothing for others", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 40 }), fc.boolean(), (runs, allKinds) => {
        const sink = createMemorySink();
        let base: Record<string, string> = {};
        let now = 0;
        const telemetry = createHookTelemetry({ sink, labels: () => base, allKinds, now: () => now });
        let measured = 0;
        for (const one of runs) {
          base = one.labels;
          now = one.took;
          telemetry.emit(0, one.hook, one.kind, one.fails ? new Error("x") : undefined);
          if (allKinds || one.kind === "prerun" || one.kind === "prestart") measured++;
        }
        const series = sink.series();
        const count = (kind: string) => series.filter((s) => s.kind === kind).reduce((sum, s) => sum + s.count, 0);
        expect(count("sample")).toBe(measured);
        expect(count("counter")).toBe(measured);
        for (const one of series) expect(one.value).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe("any label", () => {
  it("stays inside its StatsD line", () => {
    fc.assert(
      fc.property(
        text,
        labels,
        fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
        (name, set, value) => {
          const plain = statsdLine("c", name, value, set, "statsd");
          expect(plain).toMatch(/^[^:|\s]*:-?\d+\.\d{6}\|c$/);
          const tagged = statsdLine("ms", name, value, set, "dogstatsd");
          expect(tagged).not.toMatch(/\s/);
          expect(tagged.split("|")).toHaveLength(Object.keys(set).length === 0 ? 2 : 3);
          expect((tagged.split("|#")[1] ?? "").split(",").filter((tag) => tag !== "")).toHaveLength(
            Object.keys(set).length,
          );
        },
      ),
    );
  });

  it("is accepted by prom-client and gives parsable text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(labels, fc.nat()), { minLength: 1, maxLength: 8 }), async (all) => {
        const register = new Registry();
        const sink = createPromClientSink({ register });
        for (const [set, value] of all) sink.incrCounter("n", value, set);
        const lines = (await register.metrics())
          .trim()
          .split("\n")
          .filter((line) => !line.startsWith("#"));
        const total = lines.reduce((sum, line) => sum + Number(/ (\S+)$/.exec(line)?.[1]), 0);
        expect(total).toBe(all.reduce((sum, [, value]) => sum + value, 0));
      }),
    );
  });
});
