import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { attempts, createBackoff, type Attempt } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";

const numbers = { base: 1000, limit: 5000 };

/** Collects turns until `stop` says so. */
async function collect(turns: AsyncIterable<Attempt>, seen: Attempt[], enough = Infinity): Promise<void> {
  for await (const turn of turns) {
    seen.push(turn);
    if (seen.length >= enough) break;
  }
}

describe("attempts", () => {
  it("yields at once, then after each wait, and leaves no timer when left", async () => {
    const clock = new ManualClock();
    const seen: Attempt[] = [];
    const done = collect(attempts({ ...numbers, clock }), seen, 4);
    await clock.flush();
    expect(seen).toEqual([{ attempt: 0, delay: 0 }]);
    await clock.advance(3000);
    expect(seen.map((turn) => turn.delay)).toEqual([0, 1000, 2000]);
    await clock.runUntilIdle();
    await done;
    expect([seen.at(-1), clock.monotonic(), clock.pending]).toEqual([{ attempt: 3, delay: 4000 }, 7000, []]);
  });

  it("ends after maxAttempts turns", async () => {
    const clock = new ManualClock();
    const seen: Attempt[] = [];
    const done = collect(attempts({ ...numbers, clock, maxAttempts: 3 }), seen);
    await clock.runUntilIdle();
    await done;
    expect(seen).toHaveLength(3);
  });

  it("ends before a wait that would exceed maxElapsed", async () => {
    const clock = new ManualClock();
    const seen: Attempt[] = [];
    const done = collect(attempts({ backoff: createBackoff(numbers), clock, maxElapsed: 3000 }), seen);
    await clock.runUntilIdle();
    await done;
    expect([seen.length, clock.monotonic()]).toEqual([3, 3000]);
  });

  it("throws the reason of the signal during a wait", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const done = collect(attempts({ ...numbers, clock, signal: stop.signal }), []);
    await clock.advance(1500);
    stop.abort("over");
    await expect(done).rejects.toBe("over");
    expect(clock.pending).toEqual([]);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("throws the reason of a signal that aborts between turns, or before the first", async () => {
    const stop = new AbortController();
    const turns = attempts({ ...numbers, signal: stop.signal });
    await turns.next();
    stop.abort("between");
    await expect(turns.next()).rejects.toBe("between");
    expect(await turns.next()).toEqual({ done: true, value: undefined });
    await expect(attempts({ ...numbers, signal: stop.signal }).next()).rejects.toBe("between");
  });

  it("ends a wait in progress when it is returned", async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const turns = attempts({ ...numbers, clock, signal });
    await turns.next();
    const waiting = turns.next();
    await clock.flush();
    expect(clock.pending).toHaveLength(1);
    expect(await turns.return(undefined)).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(clock.pending).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("answers overlapping calls one after the other", async () => {
    const clock = new ManualClock();
    const turns = attempts({ ...numbers, clock });
    const both = Promise.all([turns.next(), turns.next(), turns.next()]);
    await clock.runUntilIdle();
    expect((await both).map((r) => r.value?.attempt)).toEqual([0, 1, 2]);
    await turns.return(undefined);
  });

  it("checks its options when it is created", () => {
    expect(() => attempts({ base: -1, limit: 5 })).toThrow(RangeError);
    expect(() => attempts({ ...numbers, maxAttempts: 0 })).toThrow(RangeError);
  });
});
