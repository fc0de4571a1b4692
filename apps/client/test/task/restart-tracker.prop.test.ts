import fc from "fast-check";
import { expect, it } from "vitest";
import { RestartTracker } from "../../src/task/restart-tracker.ts";

const steps = fc.array(
  fc.record({ waitMs: fc.integer({ min: 0, max: 40_000 }), code: fc.integer({ min: 0, max: 2 }) }),
  { maxLength: 60 },
);
const policy = fc.record({
  Attempts: fc.integer({ min: 0, max: 5 }),
  Interval: fc.integer({ min: 5, max: 60 }).map((s) => s * 1e9),
  Delay: fc.integer({ min: 0, max: 10 }).map((s) => s * 1e9),
  Mode: fc.constantFrom("fail", "delay"),
});

it("never lets more than the allowed restarts within one interval, and never a negative delay", () => {
  fc.assert(
    fc.property(policy, steps, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (p, list, random) => {
      const t = new RestartTracker({ policy: p, jobType: "service", nowMs: 0, random: () => random });
      let now = 0;
      let inInterval = 0;
      let start = t.count.startMs;
      for (const { waitMs, code } of list) {
        now += waitMs;
        t.setExit({ exitCode: code, signal: 0, oomKilled: false });
        const d = t.next(now);
        if (t.count.startMs !== start) {
          start = t.count.startMs;
          inInterval = 0;
        }
        if (d.kind === "not-restarting") {
          expect(p.Attempts === 0 || p.Mode === "fail").toBe(true);
          return;
        }
        expect(d.kind).toBe("restarting");
        if (d.kind !== "restarting") return;
        expect(d.delayNs).toBeGreaterThanOrEqual(0);
        if (d.reason === "Restart within policy") {
          inInterval++;
          expect(d.delayNs).toBeLessThanOrEqual(Math.max(1, p.Delay) * 1.25);
          expect(d.delayNs).toBeGreaterThanOrEqual(Math.max(1, p.Delay));
        } else {
          // The whole rest of the interval is waited.
          const rest = Math.max(0, start * 1e6 + p.Interval - now * 1e6);
          expect(Math.abs(d.delayNs - rest)).toBeLessThan(1_000);
        }
        expect(inInterval).toBeLessThanOrEqual(p.Attempts);
        now += d.delayNs / 1e6;
      }
    }),
  );
});

it("decides alike after its count went through the disk", () => {
  fc.assert(
    fc.property(policy, steps, fc.nat(59), (p, list, cut) => {
      const fresh = (): RestartTracker =>
        new RestartTracker({ policy: p, jobType: "batch", nowMs: 0, random: () => 0.5 });
      const one = fresh();
      let two = fresh();
      let now = 0;
      list.forEach(({ waitMs, code }, i) => {
        now += waitMs;
        if (i === cut) {
          const saved = JSON.parse(JSON.stringify(two.count)) as typeof two.count;
          two = new RestartTracker({ policy: p, jobType: "batch", nowMs: now, random: () => 0.5 });
          two.restore(saved);
        }
        const exit = { exitCode: code, signal: 0, oomKilled: false };
        one.setExit(exit);
        two.setExit(exit);
        expect(two.next(now)).toEqual(one.next(now));
      });
    }),
  );
});
