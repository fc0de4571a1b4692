import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MAX_TIMER_MS, onAbort, sleep, systemClock, waitUntil } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";

const DAY = 86_400_000;

/** How a promise stands now. */
async function stateOf(promise: Promise<unknown>): Promise<"pending" | "resolved" | "rejected"> {
  const pending = Symbol("pending");
  try {
    return (await Promise.race([promise, Promise.resolve(pending)])) === pending ? "pending" : "resolved";
  } catch {
    return "rejected";
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe("sleep", () => {
  it("ends at its time and not before", async () => {
    const clock = new ManualClock();
    const nap = sleep(1000, { clock });
    await clock.advance(999);
    expect(await stateOf(nap)).toBe("pending");
    await clock.advance(1);
    expect(await stateOf(nap)).toBe("resolved");
  });

  it("rounds a fraction up, since timers cut it off", async () => {
    const clock = new ManualClock();
    void sleep(1.2, { clock });
    expect(clock.pending.map((t) => t.inMs)).toEqual([2]);
    await clock.runUntilIdle();
  });

  it.each([30 * DAY, 100 * DAY, 2 * MAX_TIMER_MS, 2 * MAX_TIMER_MS + 1])(
    "hands no timer more than 2^31 − 1 ms for %i ms (nodejs/node#4541)",
    async (ms) => {
      const clock = new ManualClock();
      const asked: number[] = [];
      const inner = clock.setTimeout;
      clock.setTimeout = (fn, slice) => {
        asked.push(slice);
        return inner(fn, slice);
      };
      const nap = sleep(ms, { clock });
      await clock.advance(ms - 1);
      expect(await stateOf(nap)).toBe("pending");
      await clock.advance(1);
      expect(await stateOf(nap)).toBe("resolved");
      expect(asked.every((slice) => slice <= MAX_TIMER_MS)).toBe(true);
      expect(asked.reduce((a, b) => a + b)).toBe(ms);
    },
  );

  it("takes up to the largest safe integer", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const nap = sleep(Number.MAX_SAFE_INTEGER, { clock, signal: stop.signal });
    await clock.advance(400 * DAY);
    expect(await stateOf(nap)).toBe("pending");
    stop.abort();
    await expect(nap).rejects.toBe(stop.signal.reason);
    expect(clock.pending).toEqual([]);
  });

  it.each([0, -1, -Infinity, NaN, Infinity, Number.MAX_VALUE])(
    "treats %d as nothing if it is finite, else refuses it",
    async (ms) => {
      if (Number.isFinite(ms) && Math.abs(ms) <= Number.MAX_SAFE_INTEGER) await sleep(ms);
      else await expect(sleep(ms)).rejects.toMatchObject({ name: "RangeError", field: "ms", text: String(ms) });
    },
  );

  it("yields to the timer queue even for 0, so a loop of sleeps starves nobody", async () => {
    let fired = false;
    setTimeout(() => (fired = true), 3);
    for (let i = 0; i < 200 && !fired; i++) await sleep(0);
    expect(fired).toBe(true);
  });

  it("rejects with the very reason of the signal and leaves no timer (sindresorhus/p-retry#97)", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const reason = { why: "shutdown" };
    const nap = sleep(700, { clock, signal: stop.signal });
    await clock.advance(20);
    stop.abort(reason);
    await expect(nap).rejects.toBe(reason);
    expect(clock.pending).toEqual([]);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("starts no timer for a signal that is aborted already", async () => {
    const clock = new ManualClock();
    const reason = new Error("gone");
    await expect(sleep(5, { clock, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(clock.pending).toEqual([]);
  });

  it("puts one listener on a signal however many sleep on it, and none when idle (nodejs/node#55311)", async () => {
    const warnings: unknown[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const naps = Array.from({ length: 500 }, (_, i) => sleep(1 + (i % 7), { clock, signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await clock.advance(7);
    await Promise.all(naps);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    // And again on the same signal.
    const again = sleep(1, { clock, signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await clock.advance(1);
    await again;
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });

  it("ends all sleepers of a signal at once", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const naps = Array.from({ length: 10_000 }, () => sleep(60_000, { clock, signal: stop.signal }));
    const settled = Promise.allSettled(naps);
    stop.abort("over");
    expect((await settled).every((s) => s.status === "rejected" && s.reason === "over")).toBe(true);
    expect(clock.pending).toEqual([]);
  });

  it("lets the process end with ref false, also in the later slices of a long wait", async () => {
    const clock = new ManualClock();
    const refs = (): boolean[] => clock.pending.map((t) => t.ref);
    const stop = new AbortController();
    const naps = [
      sleep(10, { clock, ref: false, signal: stop.signal }),
      sleep(30 * DAY, { clock, ref: false, signal: stop.signal }),
    ];
    expect(refs()).toEqual([false, false]);
    await clock.advance(29 * DAY);
    expect(refs()).toEqual([false]);
    stop.abort();
    await Promise.allSettled(naps);
    void sleep(10, { clock });
    expect(refs()).toEqual([true]);
    await clock.runUntilIdle();
  });

  it("works with clocks whose handles know no unref", async () => {
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      setTimeout: (fn: () => void) => setTimeout(fn, 0),
      clearTimeout: () => {},
    };
    await sleep(5, { clock: { ...clock, setTimeout: (fn) => void clock.setTimeout(fn) }, ref: false });
  });

  it("follows fake timers that are installed after loading, for 30 days", async () => {
    vi.useFakeTimers();
    const nap = sleep(30 * DAY);
    await vi.advanceTimersByTimeAsync(30 * DAY - 1);
    expect(await stateOf(nap)).toBe("pending");
    await vi.advanceTimersByTimeAsync(1);
    expect(await stateOf(nap)).toBe("resolved");
  });
});

describe("systemClock", () => {
  it("reads the wall clock and a monotonic clock", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
    expect(systemClock.monotonic()).toBeLessThanOrEqual(systemClock.monotonic());
  });

  it("splits long waits, can forget them in any slice, and can unref them", async () => {
    vi.useFakeTimers();
    let fired = 0;
    systemClock.setTimeout(() => fired++, 60 * DAY);
    const forgotten = systemClock.setTimeout(() => (fired += 100), 60 * DAY) as { unref(): unknown };
    expect(forgotten.unref()).toBe(forgotten);
    await vi.advanceTimersByTimeAsync(30 * DAY);
    systemClock.clearTimeout(forgotten);
    await vi.advanceTimersByTimeAsync(30 * DAY - 1);
    expect(fired).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("starts and forgets short timers, and ignores handles that are none", async () => {
    const handle = systemClock.setTimeout(() => expect.unreachable(), 5);
    systemClock.clearTimeout(handle);
    systemClock.clearTimeout(undefined);
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 6.5));
  });

  it.each([NaN, Infinity])("refuses %d instead of firing after 1 ms", (ms) => {
    expect(() => systemClock.setTimeout(() => {}, ms)).toThrow(RangeError);
  });
});

describe("onAbort", () => {
  it("calls at once for an aborted signal", () => {
    const called = vi.fn();
    const forget = onAbort(AbortSignal.abort(), called);
    forget();
    expect(called).toHaveBeenCalledTimes(1);
  });

  it("calls each registration once and not those that were forgotten, the same function twice if asked twice", () => {
    const stop = new AbortController();
    const called = vi.fn();
    const other = vi.fn();
    onAbort(stop.signal, called);
    onAbort(stop.signal, called);
    const forget = onAbort(stop.signal, other);
    forget();
    forget();
    stop.abort();
    expect([called.mock.calls.length, other.mock.calls.length]).toEqual([2, 0]);
  });
});

describe("waitUntil", () => {
  it("waits for a wall time months away without a long timer", async () => {
    const clock = new ManualClock();
    const done = waitUntil(clock.now() + 90 * DAY, { clock });
    let longest = 0;
    const watch = setInterval(() => {}, 1000);
    while ((await stateOf(done)) === "pending") {
      const next = clock.pending[0]?.inMs ?? 0;
      longest = Math.max(longest, next);
      await clock.advance(next);
    }
    clearInterval(watch);
    expect(longest).toBeLessThanOrEqual(6 * 3_600_000);
    expect(clock.monotonic()).toBe(90 * DAY);
  });

  it("ends within a minute of a clock that jumped forward, and goes on waiting after one that went back", async () => {
    const clock = new ManualClock();
    const start = clock.now();
    const done = waitUntil(start + 1_800_000, { clock });
    await clock.advance(60_000);
    clock.setWall(start);
    await clock.advance(1_799_999);
    expect(await stateOf(done)).toBe("pending");
    clock.setWall(start + 1_800_000);
    await clock.advance(60_000);
    expect(await stateOf(done)).toBe("resolved");
  });

  it("ends for a moment that has passed, by the real clock too", async () => {
    await waitUntil(Date.now() - 5000);
  });

  it("can be cut short and refuses what is no time", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const done = waitUntil(clock.now() + DAY, { clock, signal: stop.signal });
    stop.abort("now");
    await expect(done).rejects.toBe("now");
    await expect(waitUntil(NaN)).rejects.toMatchObject({ field: "wallMs" });
  });
});
