import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it } from "vitest";
import { createTicker } from "../src/index.ts";

describe("the shared ticker", () => {
  it("calls each job once an interval, with one timer for all, and has none when nobody is left", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    const calls = Array.from({ length: 500 }, () => [] as number[]);
    const stops = calls.map((mine, i) => ticker.every(1000, `job ${i}`, () => void mine.push(clock.monotonic())));
    await clock.advance(10_000);
    expect(clock.pending).toHaveLength(1);
    for (const mine of calls) {
      expect(mine).toHaveLength(10);
      expect(mine.every((at, i) => i === 0 || at - mine[i - 1]! === 1000)).toBe(true);
    }
    for (const stop of stops) stop();
    for (const stop of stops) stop();
    expect(clock.pending).toEqual([]);
    ticker.every(1000, "again", () => undefined)();
    expect(clock.pending).toEqual([]);
  });

  it("spreads ten thousand jobs: no window of 100 ms has more than three times the mean", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    const windows = Array.from({ length: 50 }, () => 0);
    const alloc = (i: number) => `${(i * 2_654_435_761).toString(16).padStart(10, "0")}-4b2c-11ee/web`;
    for (let i = 0; i < 10_000; i++)
      ticker.every(1000, alloc(i), () => void windows[Math.min(49, Math.floor(clock.monotonic() / 100))]!++);
    await clock.advance(4900);
    expect(Math.max(...windows)).toBeLessThan(3000);
    expect(Math.min(...windows.slice(1, 48))).toBeGreaterThan(333);
  });

  it("the phase depends on the key alone", async () => {
    const at: number[][] = [];
    for (let run = 0; run < 2; run++) {
      const clock = new ManualClock();
      const mine: number[] = [];
      createTicker({ clock }).every(1000, "alloc/task", () => void mine.push(clock.monotonic()));
      await clock.advance(1000);
      at.push(mine);
    }
    expect(at[0]).toEqual(at[1]);
  });

  it("with a long interval the first call comes at once, and only in a later turn", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    let calls = 0;
    ticker.every(60_000, "a", () => void calls++);
    ticker.every(60_000, "b", () => void calls++);
    ticker.every(60_000, "c", () => void calls++)();
    expect(calls).toBe(0);
    await clock.flush();
    expect(calls).toBe(2);
    await clock.advance(120_000);
    expect(calls).toBe(6);
  });

  it("a blocked event loop makes late calls once, never several at a time", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    let calls = 0;
    ticker.every(1000, "a", () => void calls++);
    await clock.advance(1000);
    expect(calls).toBe(1);
    clock.setMonotonic(15_500);
    await clock.advance(0);
    expect(calls).toBe(2);
    await clock.advance(3000);
    expect(calls).toBe(5);
  });

  it("holds the event loop for 2 ms at most, goes on in later turns, and forgets nothing", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    const order: string[] = [];
    for (let i = 0; i < 10; i++) {
      ticker.every(10, `job ${i}`, () => {
        order.push(`job ${i}`);
        clock.setMonotonic(clock.monotonic() + 1);
      });
    }
    const first = clock.pending[0]!.at;
    await clock.advance(first - clock.monotonic());
    expect(order.length).toBeLessThanOrEqual(4);
    for (let i = 0; i < 10; i++) await clock.flush();
    expect(new Set(order.slice(0, 10)).size).toBe(10);
    ticker[Symbol.dispose]();
    expect(clock.pending).toEqual([]);
  });

  it("a job that is not finished goes on, and is not started twice when it takes longer than its interval", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    let parts = 0;
    const stop = ticker.every(10, "long", () => {
      parts++;
      clock.setMonotonic(clock.monotonic() + 25);
      return parts % 3 !== 0;
    });
    await clock.advance(60);
    for (let i = 0; i < 10; i++) await clock.flush();
    expect(parts % 3).toBe(0);
    stop();
    const before = parts;
    await clock.advance(500);
    expect(parts).toBe(before);
  });

  it("a job that throws is like a throwing timer, and the others go on", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    let calls = 0;
    ticker.every(10, "bad", () => {
      throw new Error("job");
    });
    ticker.every(10, "good", () => void calls++);
    await expect(clock.advance(10)).rejects.toThrow("job");
    await expect(clock.advance(10)).rejects.toThrow("job");
    expect(calls).toBeGreaterThanOrEqual(1);
  });

  it("works with the system's clock", async () => {
    const ticker = createTicker();
    await new Promise<void>((resolve) => {
      const stop = ticker.every(10, "x", () => {
        stop();
        resolve();
      });
    });
  });
});
