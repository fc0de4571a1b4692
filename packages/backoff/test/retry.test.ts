import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import {
  createBackoff,
  isRecoverableError,
  retry,
  RetryExhaustedError,
  UnrecoverableError,
  type Clock,
  type RetryEvent,
} from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";

/** A clock whose timers fire at once and on which time passes all the same. */
function instantClock(): Clock & { waited: number[] } {
  let at = 0;
  const waited: number[] = [];
  return {
    waited,
    now: () => at,
    monotonic: () => at,
    setTimeout(fn, ms) {
      at += ms;
      waited.push(ms);
      queueMicrotask(fn);
      return undefined;
    },
    clearTimeout() {},
  };
}

const numbers = { base: 1000, limit: 5000 };
const failing = (): never => {
  throw new Error("down");
};

describe("retry", () => {
  it("calls at once, then after each wait, and gives the result", async () => {
    const clock = instantClock();
    const seen: unknown[] = [];
    const result = await retry(
      ({ attempt, lastError, signal }) => {
        seen.push([attempt, (lastError as Error | undefined)?.message, signal.aborted]);
        if (attempt < 4) throw new Error(`no ${attempt}`);
        return "done";
      },
      { ...numbers, clock },
    );
    expect(result).toBe("done");
    expect(clock.waited).toEqual([1000, 2000, 4000, 5000]);
    expect(seen).toEqual([
      [0, undefined, false],
      [1, "no 0", false],
      [2, "no 1", false],
      [3, "no 2", false],
      [4, "no 3", false],
    ]);
  });

  it("tells of each failure before the wait", async () => {
    const clock = new ManualClock();
    const events: RetryEvent[] = [];
    const done = retry(async ({ attempt }) => (attempt < 2 ? failing() : attempt), {
      ...numbers,
      clock,
      onRetry: (e) => void events.push(e),
    });
    await clock.flush();
    expect(events).toHaveLength(1);
    await clock.runUntilIdle();
    expect(await done).toBe(2);
    expect(
      events.map(({ attempt, delay, elapsed, error }) => [attempt, delay, elapsed, (error as Error).message]),
    ).toEqual([
      [0, 1000, 0, "down"],
      [1, 2000, 1000, "down"],
    ]);
  });

  it("rejects with what its callback throws or rejects with", async () => {
    const bug = new Error("bug in the callback");
    await expect(
      retry(failing, {
        ...numbers,
        onRetry: () => {
          throw bug;
        },
      }),
    ).rejects.toBe(bug);
    await expect(retry(failing, { ...numbers, onRetry: () => Promise.reject(bug) })).rejects.toBe(bug);
  });

  it("gives up after maxAttempts with the last error as cause", async () => {
    const clock = instantClock();
    const error = await retry(
      ({ attempt }) => {
        throw new Error(`no ${attempt}`);
      },
      { ...numbers, clock, maxAttempts: 3 },
    ).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RetryExhaustedError);
    expect(error).toMatchObject({
      code: "exhausted",
      recoverable: true,
      attempts: 3,
      elapsedMs: 3000,
      cause: { message: "no 2" },
    });
    expect((error as Error).message).toBe("gave up after 3 attempts in 3000 ms");
    expect((error as never)[Symbol.for("outrider.error")]).toBe(true);
    expect(clock.waited).toEqual([1000, 2000]);
  });

  it("calls only once with maxAttempts 1", async () => {
    const fn = vi.fn(failing);
    await expect(retry(fn, { ...numbers, maxAttempts: 1 })).rejects.toMatchObject({ attempts: 1 });
    expect(fn).toHaveBeenCalledTimes(1);
  });

  it("does not start a wait that would end after maxElapsed", async () => {
    const clock = instantClock();
    await expect(retry(failing, { ...numbers, clock, maxElapsed: 7000 })).rejects.toMatchObject({
      attempts: 4,
      elapsedMs: 7000,
    });
    expect(clock.waited).toEqual([1000, 2000, 4000]);
  });

  it.each([
    ["an error marked so", () => Object.assign(new Error("bad token"), { recoverable: false })],
    ["an UnrecoverableError", () => new UnrecoverableError("bad token")],
    [
      "one that wraps such an error",
      () => new Error("outer", { cause: new Error("middle", { cause: new UnrecoverableError("bad token") }) }),
    ],
    [
      "a recoverable wrapper around one",
      () => Object.assign(new Error("outer", { cause: new UnrecoverableError("x") }), { recoverable: true }),
    ],
  ])("stops at once with %s", async (_name, make) => {
    const error = make();
    const fn = vi.fn(() => Promise.reject(error));
    await expect(retry(fn, numbers)).rejects.toBe(error);
    expect(fn).toHaveBeenCalledTimes(1);
    expect(isRecoverableError(error)).toBe(false);
  });

  it("stops when the predicate says so, and only asks it about recoverable errors", async () => {
    const isRecoverable = vi.fn((error: unknown) => (error as Error).message !== "404");
    const clock = instantClock();
    await expect(
      retry(
        ({ attempt }) => {
          throw new Error(attempt < 2 ? "503" : "404");
        },
        { ...numbers, clock, isRecoverable },
      ),
    ).rejects.toThrow("404");
    expect(isRecoverable).toHaveBeenCalledTimes(3);
    await expect(
      retry(
        () => {
          throw new UnrecoverableError("no");
        },
        { ...numbers, isRecoverable },
      ),
    ).rejects.toThrow("no");
    expect(isRecoverable).toHaveBeenCalledTimes(3);
  });

  it("takes anything thrown, cyclic causes included", async () => {
    const cyclic = new Error("a");
    cyclic.cause = new Error("b", { cause: cyclic });
    for (const thrown of [undefined, null, 0, "text", Symbol("s"), cyclic]) {
      const error = await retry(
        () => {
          throw thrown;
        },
        { ...numbers, maxAttempts: 1 },
      ).catch((e: unknown) => e);
      expect(error).toMatchObject({ attempts: 1 });
      expect((error as Error).cause).toBe(thrown);
      expect(isRecoverableError(thrown)).toBe(true);
    }
  });

  it.each([
    [400, undefined, 1000],
    [3000, undefined, 3000],
    [90_000, undefined, 5000],
    [90_000, true, 90_000],
    [-5, undefined, 1000],
    [NaN, undefined, 1000],
    ["soon", undefined, 1000],
  ])(
    "with an error that asks to retry after %s ms (respectServer %s) waits %i ms",
    async (retryAfterMs, respectServer, want) => {
      const clock = instantClock();
      const busy = new Error("busy", { cause: Object.assign(new Error("429"), { retryAfterMs }) });
      const delays: number[] = [];
      await retry(
        ({ attempt }) => {
          if (attempt === 0) throw busy;
        },
        { ...numbers, clock, respectServer, onRetry: (e) => void delays.push(e.delay) },
      );
      expect(delays).toEqual([want]);
    },
  );

  it("never waits longer than a timer chain can, whatever a server asks for", async () => {
    const stop = new AbortController();
    const delays: number[] = [];
    const endless = Object.assign(new Error("429"), { retryAfterMs: Infinity });
    const onRetry = ({ delay }: RetryEvent): void => {
      delays.push(delay);
      stop.abort("seen");
    };
    const done = retry(() => Promise.reject(endless), {
      ...numbers,
      respectServer: true,
      signal: stop.signal,
      onRetry,
    });
    await expect(done).rejects.toBe("seen");
    expect(delays).toEqual([Number.MAX_SAFE_INTEGER]);
  });

  it("rejects with the reason when aborted during a wait, and leaves nothing behind", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const done = retry(failing, { ...numbers, clock, signal: stop.signal });
    await clock.advance(1500);
    expect(clock.pending).toHaveLength(1);
    stop.abort("over");
    await expect(done).rejects.toBe("over");
    expect(clock.pending).toEqual([]);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("rejects with the reason while a call that ignores the signal is running", async () => {
    const stop = new AbortController();
    const done = retry(() => new Promise(() => {}), { ...numbers, signal: stop.signal });
    stop.abort("over");
    await expect(done).rejects.toBe("over");
  });

  it("prefers the reason over the error of a call that fails because of the abort", async () => {
    const stop = new AbortController();
    const done = retry(
      ({ signal }) => {
        stop.abort("over");
        expect(signal).toBe(stop.signal);
        throw new Error("call cut off");
      },
      { ...numbers, signal: stop.signal },
    );
    await expect(done).rejects.toBe("over");
  });

  it("does not call for a signal that is aborted already", async () => {
    const fn = vi.fn();
    await expect(retry(fn, { ...numbers, signal: AbortSignal.abort("no") })).rejects.toBe("no");
    expect(fn).not.toHaveBeenCalled();
  });

  it("leaves no listener after success with a signal, for plain and promised results", async () => {
    const { signal } = new AbortController();
    expect(await retry(() => 1, { ...numbers, signal })).toBe(1);
    expect(await retry(async () => 2, { ...numbers, signal })).toBe(2);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("goes on with a backoff that the caller keeps over several calls", async () => {
    const clock = instantClock();
    const backoff = createBackoff({ ...numbers, clock });
    const once = ({ attempt }: { attempt: number }): void => {
      if (attempt === 0) failing();
    };
    await retry(once, { backoff, clock });
    await retry(once, { backoff, clock });
    expect(clock.waited).toEqual([1000, 2000]);
  });

  it.each([0, 1.5, -1, NaN])("refuses maxAttempts %d", async (maxAttempts) => {
    await expect(retry(failing, { ...numbers, maxAttempts })).rejects.toMatchObject({
      field: "maxAttempts",
      text: String(maxAttempts),
    });
  });

  it.each([-1, NaN])("refuses maxElapsed %d", async (maxElapsed) => {
    await expect(retry(failing, { ...numbers, maxElapsed })).rejects.toMatchObject({ field: "maxElapsed" });
  });

  it("takes Infinity for maxAttempts", async () => {
    let calls = 0;
    const options = { ...numbers, clock: instantClock(), maxAttempts: Infinity };
    expect(await retry(() => (++calls <= 50 ? failing() : calls), options)).toBe(51);
  });

  it("retries 100,000 times, without a limit by default and in constant memory (tim-kos/node-retry#5)", async () => {
    const clock = { ...instantClock(), setTimeout: (fn: () => void): unknown => queueMicrotask(fn) };
    const before = process.memoryUsage().heapUsed;
    let calls = 0;
    const result = await retry(() => (++calls <= 100_000 ? failing() : calls), {
      base: 1,
      limit: 10,
      clock,
    });
    expect(result).toBe(100_001);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
  });
});
