import { ManualClock } from "@outrider/backoff/testing";
import type { Logger } from "@outrider/foundation";
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

  it("passes every argument on, and a signal that ends with the caller's and the task's", async () => {
    const task = new AbortController();
    const { setup, handle } = lazy(task.signal);
    const seen: unknown[] = [];
    const signals: AbortSignal[] = [];
    setup.handle = {
      generation: 1,
      exec: (command, ms, signal) => {
        seen.push(command, ms);
        signals.push(signal);
        return Promise.resolve(RESULT);
      },
      async *stats(signal, ms) {
        seen.push(ms);
        signals.push(signal);
        yield SAMPLE;
      },
    };
    const mine = new AbortController();
    await handle.exec(["a", "b"], 7, mine.signal);
    for await (const sample of handle.stats(mine.signal, 250)) expect(sample).toBe(SAMPLE);
    await handle.exec(["c"], 8, never);
    expect(seen).toEqual([["a", "b"], 7, 250, ["c"], 8]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
    mine.abort();
    expect([signals[0]?.aborted, signals[2]?.aborted]).toEqual([true, false]);
    task.abort();
    expect(signals[2]?.aborted).toBe(true);
  });

  it("looks for the newer instance ten times a second, in the time that it has", async () => {
    const { setup, clock } = lazy();
    let asked = 0;
    const retrieve = (): TaskDriverHandle | undefined => {
      asked++;
      return setup.handle;
    };
    const handle = createLazyHandle({ retrieve, signal: never, clock, waitMs: 250 });
    const run = expect(handle.exec(["a"], 0, never)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await clock.flush();
    expect(asked).toBe(1);
    await clock.advance(100);
    expect(asked).toBe(2);
    await clock.advance(150);
    await run;
    expect(asked).toBe(4);
    expect(clock.pending).toEqual([]);
  });

  it("fails with the shutdown that it saw, and tells which instance went", async () => {
    const setup: Setup = { handle: undefined, calls: [] };
    const clock = new ManualClock();
    const told: unknown[] = [];
    const log = (...parts: unknown[]): void => void told.push(parts);
    const logger: Logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
    const handle = createLazyHandle({ retrieve: () => setup.handle, signal: never, clock, logger, waitMs: 100 });
    const error = new PluginShutdownError({ cause: "mine" });
    setup.handle = instance(setup, 5, { error });
    const exec = handle.exec(["a"], 0, never).catch((reason: unknown) => reason);
    const iterator = handle.stats(never, 1)[Symbol.asyncIterator]();
    await iterator.next();
    const stats = iterator.next().catch((reason: unknown) => reason);
    await clock.advance(100);
    expect(await exec).toBe(error);
    expect(await stats).toBe(error);
    expect(told).toEqual(
      expect.arrayContaining([
        [{ generation: 5 }, "plugin went away during exec, waiting for its successor"],
        [{ generation: 5 }, "plugin went away during stats, waiting for its successor"],
      ]),
    );
  });

  it("ends when the samples end", async () => {
    const { setup, handle } = lazy();
    setup.handle = { ...instance(setup, 1), stats: async function* () {} };
    expect(await handle.stats(never, 1)[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  });
});
