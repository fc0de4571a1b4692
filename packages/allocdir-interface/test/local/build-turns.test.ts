import { describe, expect, it } from "vitest";
import { BuildTurns } from "../../src/local/build-turns.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("turns of builds", () => {
  it("lets four build at one time, and what was begun go before what is new", async () => {
    const turns = new BuildTurns();
    const begun: string[] = [];
    const ends: Array<() => void> = [];
    const build = (name: string) => (): Promise<void> => {
      begun.push(name);
      return new Promise((resolve) => ends.push(resolve));
    };
    const all = ["a", "b", "c", "d", "e", "f"].map((name) => turns.run("allocation", build(name)));
    all.push(turns.run("task", build("a/web")));
    await turn();
    expect(begun).toEqual(["a", "b", "c", "d"]);
    ends[0]?.();
    await turn();
    ends[1]?.();
    await turn();
    expect(begun.slice(4)).toEqual(["a/web", "e"]);
    for (let at = 2; at < 7; at++) {
      ends[at]?.();
      await turn();
    }
    await Promise.all(all);
    expect(begun).toHaveLength(7);
  });

  it("hands the turn on after a failure, and takes who gives up out of the queue", async () => {
    const turns = new BuildTurns();
    const failing = [1, 2, 3, 4].map(() =>
      turns.run("allocation", async () => {
        await turn();
        throw new Error("disk");
      }),
    );
    const cancel = new AbortController();
    const given = turns.run("allocation", () => Promise.resolve(), cancel.signal);
    const reason = new Error("stopped");
    cancel.abort(reason);
    await expect(given).rejects.toBe(reason);
    await expect(turns.run("task", () => Promise.resolve(), cancel.signal)).rejects.toBe(reason);
    const results = await Promise.allSettled(failing);
    expect(results.every((r) => r.status === "rejected")).toBe(true);
    let ran = 0;
    const late = new AbortController();
    await Promise.all(
      Array.from({ length: 9 }, () => turns.run("task", () => Promise.resolve(void ran++), late.signal)),
    );
    late.abort();
    expect(ran).toBe(9);
  });
});
