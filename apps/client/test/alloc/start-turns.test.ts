import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it } from "vitest";
import { StartTurns, type StartTurn } from "../../src/alloc/start-turns.ts";

const never = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets so many ask, and tells who has begun. */
function ask(turns: StartTurns, count: number, signal = never): StartTurn[] {
  const begun: StartTurn[] = [];
  for (let i = 0; i < count; i++) void turns.enter(signal).then((turn) => begun.push(turn));
  return begun;
}

describe("turns of those that start", () => {
  it("lets twelve begin, and one more for each that is done", async () => {
    const clock = new ManualClock();
    const begun = ask(new StartTurns(clock), 15);
    await settled();
    expect(begun).toHaveLength(12);
    begun[3]?.end();
    begun[3]?.end();
    await settled();
    expect(begun).toHaveLength(13);
    begun[0]?.end();
    begun[1]?.end();
    await settled();
    expect(begun).toHaveLength(15);
    await clock.advance(1_000);
    expect(clock.pending).toEqual([]);
  });

  it("gives away the place of one that takes its time, the oldest first", async () => {
    const clock = new ManualClock();
    const turns = new StartTurns(clock);
    ask(turns, 11);
    await clock.advance(30);
    const late = ask(turns, 14);
    await settled();
    expect(late).toHaveLength(1);
    await clock.advance(19);
    expect(late).toHaveLength(1);
    await clock.advance(1);
    expect(late).toHaveLength(12);
    await clock.advance(29);
    expect(late).toHaveLength(12);
    await clock.advance(1);
    expect(late).toHaveLength(13);
    await clock.advance(20);
    expect(late).toHaveLength(14);
  });

  it("begins at once for one that is to end, whoever waits", async () => {
    const clock = new ManualClock();
    const turns = new StartTurns(clock);
    ask(turns, 12);
    const stop = new AbortController();
    const ending = ask(turns, 2, stop.signal);
    const others = ask(turns, 1);
    await settled();
    expect(ending).toHaveLength(0);
    stop.abort();
    const late = ask(turns, 1, stop.signal);
    await settled();
    expect([ending.length, late.length, others.length]).toEqual([2, 1, 0]);
  });
});
