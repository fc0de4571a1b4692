import { ManualClock } from "@outrider/backoff/testing";
import { describe, expect, it } from "vitest";
import { createLazyHandle, PluginShutdownError, type TaskDriverHandle, type ExecResult } from "../src/index.ts";
import { EXITED, SAMPLE, untilAborted } from "./support/memory-driver.ts";

const RESULT: ExecResult = { stdout: new Uint8Array(), stderr: new Uint8Array(), exitResult: EXITED };

interface Setup {
  handle: TaskDriverHandle | undefined;
  calls: number[];
}

/** A handle that dies after its samples unless told to live. */
function instance(setup: Setup, generation: number, o: { lives?: boolean; error?: Error } = {}): TaskDriverHandle {
  const { lives = false, error = new PluginShutdownError() } = o;
  return {
    generation,
    exec: () => {
      setup.calls.push(generation);
      return lives ? Promise.resolve(RESULT) : Promise.reject(error);
    },
    async *stats(signal) {
      setup.calls.push(generation);
      yield SAMPLE;
      if (!lives) throw error;
      await untilAborted(signal);
    },
  };
}

function lazy(signal = new AbortController().signal): {
  setup: Setup;
  clock: ManualClock;
  handle: ReturnType<typeof createLazyHandle>;
} {
  const setup: Setup = { handle: undefined, calls: [] };
  const clock = new ManualClock();
  return { setup, clock, handle: createLazyHandle({ retrieve: () => setup.handle, signal, clock }) };
}

const never = new AbortController().signal;

describe("a lazy handle (hashicorp/nomad#5936)", () => {
  it("goes on with the newer instance after a shutdown during stats, and never asks the stale one again", async () => {
    const { setup, clock, handle } = lazy();
    setup.handle = instance(setup, 1);
    const iterator = handle.stats(never, 1000)[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toBe(SAMPLE);
    const second = iterator.next();
    await clock.advance(5_000);
    expect(setup.calls).toEqual([1]);
    setup.handle = instance(setup, 2, { lives: true });
    await clock.advance(100);
    expect((await second).value).toBe(SAMPLE);
    expect(setup.calls).toEqual([1, 2]);
    const pending = iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  it("tells the shutdown when no newer instance comes in 15 s", async () => {
    const { setup, clock, handle } = lazy();
    setup.handle = instance(setup, 1);
    const run = expect(handle.exec(["a"], 0, never)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await clock.advance(15_000);
    await run;
    setup.handle = undefined;
    const none = expect(handle.exec(["a"], 0, never)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    const stats = expect(handle.stats(never, 1)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN",
    });
    await clock.advance(15_000);
    await none;
    await stats;
  });

  it("repeats a command once, with the newer instance", async () => {
    const { setup, clock, handle } = lazy();
    setup.handle = instance(setup, 1);
    const run = handle.exec(["a"], 0, never);
    await clock.flush();
    setup.handle = instance(setup, 2, { lives: true });
    await clock.advance(100);
    expect(await run).toBe(RESULT);
    setup.handle = instance(setup, 3);
    const again = expect(handle.exec(["a"], 0, never)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await clock.flush();
    setup.handle = instance(setup, 4);
    await clock.advance(100);
    await again;
    expect(setup.calls).toEqual([1, 2, 3, 4]);
  });

  it("passes other failures on at once", async () => {
    const { setup, handle } = lazy();
    setup.handle = instance(setup, 1, { error: new Error("boom") });
    await expect(handle.exec(["a"], 0, never)).rejects.toThrow("boom");
    const iterator = handle.stats(never, 1)[Symbol.asyncIterator]();
    await iterator.next();
    await expect(iterator.next()).rejects.toThrow("boom");
  });

  it("stops waiting when the caller or the task ends", async () => {
    const task = new AbortController();
    const { handle, clock } = lazy(task.signal);
    const mine = new AbortController();
    const run = expect(handle.exec(["a"], 0, mine.signal)).rejects.toThrow("mine");
    await clock.flush();
    mine.abort(new Error("mine"));
    await run;
    const stats = expect(handle.stats(never, 1)[Symbol.asyncIterator]().next()).rejects.toThrow("over");
    await clock.flush();
    task.abort(new Error("over"));
    await stats;
  });

  it("ends when the samples end", async () => {
    const { setup, handle } = lazy();
    setup.handle = { ...instance(setup, 1), stats: async function* () {} };
    expect(await handle.stats(never, 1)[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });
});
