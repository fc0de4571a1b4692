import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyFailure } from "../src/index.ts";
import { driven, harness } from "./harness.ts";

const step = fc.oneof(
  fc.record({ do: fc.constantFrom("poststart", "exited", "sample", "end", "fail", "late") }),
  fc.record({ do: fc.constant("wait"), ms: fc.integer({ min: 1, max: 4000 }) }),
);

describe("any sequence of starts, exits, samples, ends and failures", () => {
  it("has one live stream at most, no update after an exit, no call too many, and no timer at the end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const h = harness({ interval: 500 });
        const source = driven();
        let running = false;
        let starts = 0;
        const current = () => source.calls.at(-1);
        for (const s of steps) {
          const before = h.updates.length;
          if (s.do === "poststart") {
            h.hook.poststart(source);
            starts++;
            running = true;
          } else if (s.do === "exited") {
            await h.hook.exited();
            running = false;
          } else if (s.do === "sample") current()?.sink.next(1);
          else if (s.do === "end") current()?.sink.end();
          else if (s.do === "fail") current()?.sink.end(new Error("down"));
          else if (s.do === "late") source.calls[0]?.sink.next(9);
          else await h.clock.advance((s as { ms: number }).ms);
          if (!running) expect(h.updates.length).toBe(before);
          expect(source.calls.filter((call) => call.stopped === 0).length).toBeLessThanOrEqual(running ? 1 : 0);
          expect(h.hook.latest()?.running ?? running).toBe(running);
        }
        expect(source.calls.every((call) => call.stopped <= 1)).toBe(true);
        // One call per start and interval at most, however often streams end.
        expect(source.calls.length).toBeLessThanOrEqual(starts * 2 + Math.floor(h.clock.monotonic() / 500));
        await h.hook.shutdown();
        expect(h.clock.pending).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe("any thing thrown", () => {
  it("has a meaning", () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(["not-implemented", "plugin-shutdown", "unrecoverable", "recoverable"]).toContain(
          classifyFailure(thrown),
        );
      }),
      { numRuns: 1000 },
    );
  });
});
