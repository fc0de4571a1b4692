import { describe, expect, it } from "vitest";
import { sleep } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";

describe("ManualClock", () => {
  it("starts at a fixed time, or where it is told", () => {
    const clock = new ManualClock();
    expect([new Date(clock.now()).toISOString(), clock.monotonic()]).toEqual(["2026-01-01T00:00:00.000Z", 0]);
    const other = new ManualClock({ now: new Date(5), monotonic: 7 });
    expect([other.now(), other.monotonic()]).toEqual([5, 7]);
  });

  it("fires timers in order of time, then of creation, each at its own time", async () => {
    const clock = new ManualClock({ now: 0 });
    const fired: unknown[] = [];
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["d", 31],
    ] as const)
      clock.setTimeout(() => fired.push([name, clock.monotonic(), clock.now()]), ms);
    await clock.advance(30);
    expect(fired).toEqual([
      ["a", 10, 10],
      ["b", 10, 10],
      ["c", 30, 30],
    ]);
    expect(clock.pending).toEqual([{ at: 31, inMs: 1, ref: true }]);
  });

  it("lets promise callbacks run between timers", async () => {
    const clock = new ManualClock();
    const log: string[] = [];
    const loop = async (name: string): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await sleep(10, { clock });
        log.push(`${name}${clock.monotonic()}`);
      }
    };
    const both = Promise.all([loop("a"), loop("b")]);
    await clock.advance(30);
    await both;
    expect(log).toEqual(["a10", "b10", "a20", "b20", "a30", "b30"]);
  });

  it("counts a delay below 1 ms as 1 ms, and refuses NaN and Infinity", async () => {
    const clock = new ManualClock();
    let fired = 0;
    clock.setTimeout(() => fired++, 0);
    clock.setTimeout(() => fired++, -5);
    await clock.advance(0);
    expect(fired).toBe(0);
    await clock.advance(1);
    expect(fired).toBe(2);
    expect(() => clock.setTimeout(() => {}, NaN)).toThrow(RangeError);
    expect(() => clock.setTimeout(() => {}, Infinity)).toThrow(RangeError);
    await expect(clock.advance(-1)).rejects.toThrow(RangeError);
    await expect(clock.advance(Infinity)).rejects.toThrow(RangeError);
  });

  it("forgets timers, and ignores handles that are none or done", async () => {
    const clock = new ManualClock();
    const handle = clock.setTimeout(() => expect.unreachable(), 5);
    clock.setTimeout(() => {}, 5);
    clock.clearTimeout(handle);
    clock.clearTimeout(handle);
    clock.clearTimeout(undefined);
    expect(clock.pending).toHaveLength(1);
    await clock.advance(5);
    expect(clock.pending).toEqual([]);
  });

  it("works without its object, as clocks are handed around", () => {
    const { now, monotonic, setTimeout, clearTimeout } = new ManualClock();
    clearTimeout(setTimeout(() => {}, 5));
    expect(now() - monotonic()).toBe(1_767_225_600_000);
  });

  it("runs until nothing is pending, and says when that never happens", async () => {
    const clock = new ManualClock();
    await clock.runUntilIdle();
    const done = sleep(90 * 86_400_000, { clock });
    await clock.runUntilIdle();
    await done;
    expect(clock.monotonic()).toBe(90 * 86_400_000);
    const forever = (): void => void clock.setTimeout(forever, 1);
    forever();
    await expect(clock.runUntilIdle({ maxTimers: 50 })).rejects.toThrow("still not idle after 50 timers");
  });

  it("moves the wall clock alone, and the monotonic clock alone but only forward", async () => {
    const clock = new ManualClock();
    let fired = 0;
    clock.setTimeout(() => fired++, 100);
    clock.setWall(5);
    clock.setMonotonic(150);
    expect([clock.now(), fired, clock.pending]).toEqual([5, 0, [{ at: 100, inMs: -50, ref: true }]]);
    await clock.advance(0);
    expect([clock.monotonic(), clock.now(), fired]).toEqual([150, 5, 1]);
    expect(() => clock.setMonotonic(149)).toThrow(RangeError);
  });

  it("does not go back when a callback moves it past the target", async () => {
    const clock = new ManualClock();
    clock.setTimeout(() => clock.setMonotonic(500), 10);
    await clock.advance(20);
    expect(clock.monotonic()).toBe(500);
  });

  it("tells which timers are unref'd", () => {
    const clock = new ManualClock();
    const handle = clock.setTimeout(() => {}, 5) as { ref(): unknown; unref(): unknown };
    handle.unref();
    expect(clock.pending[0]?.ref).toBe(false);
    handle.ref();
    expect(clock.pending[0]?.ref).toBe(true);
  });
});
