import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { harness } from "./harness.ts";

const step = fc.oneof(
  fc.record({
    do: fc.constant("push" as const),
    id: fc.constantFrom("a", "b", "c"),
    status: fc.constantFrom("pending", "running", "failed"),
    detail: fc.constantFrom("0", "1"),
  }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 1500 }) }),
  fc.record({ do: fc.constant("forget" as const), id: fc.constantFrom("a", "b", "c") }),
  fc.record({ do: fc.constant("fail" as const) }),
  fc.record({ do: fc.constant("flush" as const) }),
);

describe("any sequence of pushes, failures, flushes and waits", () => {
  it("never two calls at a time, calls at least a tick apart without flushes, and in the end the server knows the newest of each id", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.constantFrom(undefined, 70, 900), async (steps, rpcMs) => {
        let active = 0;
        const server = new Map<string, string>();
        const newest = new Map<string, string>();
        let failNext = 0;
        let flushes = 0;
        const calls: Array<{ start: number; end: number }> = [];
        const h = harness({
          retryDelay: () => 500,
          send: async (batch) => {
            expect(++active).toBe(1);
            const call = { start: h.clock.monotonic(), end: 0 };
            calls.push(call);
            if (rpcMs !== undefined) await new Promise<void>((resolve) => h.clock.setTimeout(resolve, rpcMs));
            call.end = h.clock.monotonic();
            active--;
            if (failNext > 0) {
              failNext--;
              throw new Error("down");
            }
            expect(new Set(batch.map((u) => u.id)).size).toBe(batch.length);
            for (const u of batch) server.set(u.id, `${u.status} ${u.detail}`);
          },
        });
        h.sync.start(h.stop.signal);
        const flushing: Array<Promise<void>> = [];
        for (const s of steps) {
          if (s.do === "push") {
            h.sync.push({ id: s.id, status: s.status, detail: s.detail });
            newest.set(s.id, `${s.status} ${s.detail}`);
          } else if (s.do === "wait") await h.clock.advance(s.ms);
          else if (s.do === "forget") h.sync.forget(s.id);
          else if (s.do === "fail") failNext++;
          else {
            flushes++;
            flushing.push(h.sync.flush());
          }
        }
        await h.clock.advance(5000 + (failNext + 1) * 4000);
        await Promise.all(flushing);
        expect(server).toEqual(newest);
        expect(h.sync.stats.pending).toBe(0);
        for (const [i, call] of calls.entries()) {
          if (i > 0 && flushes === 0) expect(call.start - calls[i - 1]!.end).toBeGreaterThanOrEqual(200);
        }
        h.stop.abort();
        expect(h.clock.pending).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});
