import type { Clock } from "@outrider/backoff";
import { describe, expect, it } from "vitest";
import { FairTurns } from "../../src/http/fair-turns.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Rig {
  readonly turns: FairTurns;
  readonly done: string[];
  /** A request that takes `ms`. */
  readonly ask: (name: string, asked: number, ms: number) => void;
  readonly work: (name: string, ms: number) => void;
}

function rig(): Rig {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs } as Clock;
  const turns = new FairTurns(clock);
  const done: string[] = [];
  const work = (name: string, ms: number): void => {
    done.push(name);
    nowMs += ms;
  };
  return { turns, done, work, ask: (name, asked, ms) => turns.enter(asked, () => work(name, ms)) };
}

describe("turns of requests", () => {
  it("are at once as long as there is time, and later for the rest", async () => {
    const { turns, done, ask } = rig();
    for (const name of ["a", "b", "c", "d", "e", "f"]) ask(name, 0, 4);
    expect(done).toEqual(["a", "b", "c"]);
    expect(turns.waiting).toBe(3);
    await turn();
    expect(done).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect(turns.waiting).toBe(0);
  });

  it("come first for clients that asked little, but come for the others too", async () => {
    const { done, ask } = rig();
    ask("long", 0, 20);
    for (let i = 0; i < 6; i++) ask(`many ${i}`, 100, 1);
    for (let i = 0; i < 5; i++) ask(`few ${i}`, 1, 1);
    for (let i = 0; i < 4; i++) await turn();
    expect(done.slice(0, 6)).toEqual(["long", "few 0", "few 1", "few 2", "many 0", "few 3"]);
    expect(done).toHaveLength(12);
  });

  it("are short while clients connect, since only one connects a turn", async () => {
    const { turns, done, ask } = rig();
    turns.connected();
    ask("a", 0, 2);
    for (let i = 0; i < 5; i++) ask(`b${i}`, 0, 0.1);
    expect(done).toEqual(["a"]);
    await turn();
    expect(done).toEqual(["a", "b0", "b1"]);
    await turn();
    expect(done).toHaveLength(6);
  });

  it("that nobody asked for come one a turn, behind requests", async () => {
    const { turns, done, work, ask } = rig();
    for (const name of ["x", "y", "z"]) void turns.later().then(() => work(name, 50));
    expect(turns.waiting).toBe(3);
    ask("request", 5, 1);
    expect(done).toEqual(["request"]);
    await turn();
    expect(done).toEqual(["request", "x"]);
    ask("other", 5, 1);
    await turn();
    await turn();
    expect(done).toEqual(["request", "x", "other", "y", "z"]);
    expect(turns.waiting).toBe(0);
  });
});
