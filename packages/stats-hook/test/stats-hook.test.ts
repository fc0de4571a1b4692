import { OutriderError, isOutriderError } from "@outrider/foundation";
import { afterEach, describe, expect, it, vi } from "vitest";
import { StatsHook } from "../src/index.ts";
import { driven, harness, scripted } from "./harness.ts";

afterEach(() => vi.restoreAllMocks());

describe("collecting", () => {
  it("hands each sample to the updater, in both forms of a source", async () => {
    const h = harness();
    h.hook.poststart({
      async *stats(_signal, intervalMs) {
        yield intervalMs;
        yield 2;
        await new Promise(() => undefined);
      },
    });
    await h.clock.flush();
    expect(h.updates.map(([, sample]) => sample)).toEqual([1000, 2]);

    const p = harness();
    const source = driven();
    p.hook.poststart(source);
    source.calls[0]!.sink.next(5);
    expect(p.updates).toEqual([[0, 5]]);
    expect(source.calls[0]!.intervalMs).toBe(1000);
  });

  it("a source that sends one sample and ends is called once in 500 ms at an interval of a minute (the naive loop made 154,458 updates)", async () => {
    const h = harness({ interval: 60_000 });
    const source = scripted(1);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(500);
    expect(source.opened).toEqual([0]);
    expect(h.updates).toHaveLength(1);
    await h.clock.advance(60_000 * 3);
    expect(source.opened).toEqual([0, 60_000, 120_000, 180_000]);
  });

  it("a slow updater holds the next sample of an iterated stream back", async () => {
    let go!: () => void;
    const h = harness({ update: () => new Promise<void>((resolve) => (go = resolve)) });
    let pulled = 0;
    h.hook.poststart({
      async *stats() {
        for (;;) yield pulled++;
      },
    });
    await h.clock.flush();
    expect(pulled).toBe(1);
    go();
    await h.clock.flush();
    expect(pulled).toBe(2);
    await h.hook.exited();
    go();
    await h.clock.flush();
    expect(pulled).toBe(2);
  });

  it("switched off it never asks the source, and says so at trace", () => {
    const h = harness({ collect: false });
    const source = driven();
    h.hook.poststart(source);
    expect(source.calls).toEqual([]);
    expect(h.levels()).toEqual(["trace"]);
  });

  it("a second poststart replaces the collector: one live stream at any time", async () => {
    const h = harness();
    const first = driven();
    const second = driven();
    h.hook.poststart(first);
    h.hook.poststart(second);
    expect(first.calls[0]!.stopped).toBe(1);
    await h.clock.flush();
    first.calls[0]!.sink.next(1);
    second.calls[0]!.sink.next(2);
    expect(h.updates.map(([, s]) => s)).toEqual([2]);
    expect(h.levels()).toEqual(["debug"]);
  });

  it("the next stream opens when the replaced one let go, after a second if it does not", async () => {
    const h = harness();
    h.hook.poststart({
      stats: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => undefined),
          return: () => new Promise(() => undefined),
        }),
      }),
    });
    await h.clock.flush();
    const second = driven();
    h.hook.poststart(second);
    await h.clock.advance(999);
    expect(second.calls).toHaveLength(0);
    await h.clock.advance(1);
    expect(second.calls).toHaveLength(1);
  });

  it("counts what it did", async () => {
    const h = harness();
    h.hook.poststart(scripted(7).at(h.clock));
    await h.clock.advance(1000);
    expect(h.hook.counters).toEqual({ opens: 2, samples: 2, ends: 2, failures: 0, updateFailures: 0 });
  });
});

describe("the end of a stream", () => {
  it("is debug, never an error (hashicorp/nomad#11273, #26582)", async () => {
    const h = harness();
    h.hook.poststart(scripted(1).at(h.clock));
    await h.clock.advance(10_000);
    expect(new Set(h.levels())).toEqual(new Set(["debug"]));
  });

  it("without a sample is asked less and less often, up to every 30 s, and every interval again after a sample", async () => {
    const h = harness();
    const source = scripted(...Array.from({ length: 8 }, () => undefined), 1);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(200_000);
    const waits = source.opened.map((at, i) => at - (source.opened[i - 1] ?? 0));
    expect(waits.slice(0, 11)).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 1000, 1000]);
  });

  it("with an interval beyond 30 s an empty stream is asked once per interval", async () => {
    const h = harness({ interval: 90_000 });
    const source = scripted(undefined);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(270_000);
    expect(source.opened).toEqual([0, 90_000, 180_000, 270_000]);
  });

  it("releases what the source holds by its signal", async () => {
    const h = harness();
    const signals: AbortSignal[] = [];
    h.hook.poststart({
      async *stats(signal) {
        signals.push(signal);
        yield 1;
      },
    });
    await h.clock.flush();
    expect(signals[0]!.aborted).toBe(true);
  });

  it("the same finished iterable given twice does not spin", async () => {
    const h = harness();
    const generator = (async function* () {
      yield 1;
    })();
    let opens = 0;
    h.hook.poststart({ stats: () => (opens++, generator) });
    await h.clock.advance(10_000);
    expect(h.updates).toHaveLength(1);
    expect(opens).toBe(5);
  });
});

describe("failures to open", () => {
  it("are tried again after 1, 2, 4, 5, 5 seconds, and the source is really called again (hashicorp/nomad#5936)", async () => {
    const h = harness();
    const source = scripted(
      new Error("connection refused"),
      ...Array.from({ length: 4 }, () => new Error("connection refused")),
      1,
    );
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(17_000);
    expect(source.opened).toEqual([0, 1000, 3000, 7000, 12_000, 17_000]);
    expect(h.updates).toEqual([[17_000, 1]]);
  });

  it("a repeated one is logged once and then once a minute with the number left out; the recovery once", async () => {
    const h = harness();
    const source = scripted(...Array.from({ length: 30 }, () => new Error("no such file or directory")), 1);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(70_000);
    const errors = h.log.lines.filter(([level]) => level === "error");
    expect(errors).toHaveLength(2);
    expect(errors.map(([, , b]) => b.omitted)).toEqual([0, 13]);
    await h.clock.advance(200_000);
    expect(h.levels().filter((level) => level === "info")).toHaveLength(1);
  });

  it("many different texts are kept apart only up to a bound", async () => {
    const h = harness();
    let n = 0;
    h.hook.poststart({
      stats: () => {
        throw new Error(`no ${n++}`);
      },
    });
    await h.clock.advance(5 * 40 * 1000);
    const errors = h.levels().filter((level) => level === "error").length;
    expect(errors).toBeGreaterThan(16);
    expect(errors).toBeLessThan(23);
  });

  it.each([
    ["its exact text", new Error("stats not implemented for driver")],
    ["its text behind gRPC's prefix", new Error("rpc error: code = Unknown desc = stats not implemented for driver")],
    ["gRPC code 12", Object.assign(new Error("method TaskStats not implemented"), { code: 12 })],
    [
      "a typed error, wrapped",
      new Error("opening", { cause: new OutriderError("ERR_OUTRIDER_STATS_NOT_IMPLEMENTED", "no") }),
    ],
  ])("a driver without stats, known by %s, is asked once: debug", async (_how, error) => {
    const h = harness();
    const source = scripted(error);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(600_000);
    expect(source.opened).toEqual([0]);
    expect(h.levels()).toEqual(["debug"]);
    expect(h.clock.pending).toEqual([]);
  });

  it("an unrecoverable error anywhere in the chain of causes ends it with one debug line (hashicorp/nomad#6073)", async () => {
    const h = harness();
    const inner = Object.assign(new Error("container stopped"), { recoverable: false });
    const source = scripted(new Error("outer", { cause: new Error("middle", { cause: inner }) }));
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(600_000);
    expect(source.opened).toEqual([0]);
    expect(h.levels()).toEqual(["debug"]);
  });

  it("a recoverable flag, and a chain of causes that never ends, are tried again", async () => {
    for (const make of [
      () => new OutriderError("ERR_OUTRIDER_X", "busy", { recoverable: true }),
      () => {
        const loop = new Error("loop");
        loop.cause = loop;
        return loop;
      },
    ]) {
      const h = harness();
      const source = scripted(make());
      h.hook.poststart(source.at(h.clock));
      await h.clock.advance(1000);
      expect(source.opened).toEqual([0, 1000]);
    }
  });

  it("a plugin that is shut down is debug, tried again at once in one backoff step, and its samples come back", async () => {
    const h = harness();
    const down = () => new OutriderError("ERR_OUTRIDER_DRIVER_GONE", "plugin is shut down");
    const source = scripted(down(), down(), 1);
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(3000);
    expect(source.opened).toEqual([0, 1000, 3000]);
    expect(h.levels()).toEqual(["debug", "debug", "debug"]);
    expect(h.updates).toHaveLength(1);
  });

  it("sources that throw at once, give no iterable, a broken iterator or a rejected promise are tried again", async () => {
    const bad: Array<() => any> = [
      () => {
        throw new Error("at once");
      },
      () => 5,
      () => ({
        [Symbol.asyncIterator]: () => {
          throw new Error("broken");
        },
      }),
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw new Error("broken next");
          },
        }),
      }),
      () => Promise.reject(new Error("rejected")),
    ];
    for (const stats of bad) {
      const h = harness();
      let opens = 0;
      h.hook.poststart({ stats: () => (opens++, stats()) });
      await h.clock.advance(1000);
      expect(opens).toBe(2);
    }
    for (const subscribe of [bad[0]!, bad[4]!]) {
      const h = harness();
      let opens = 0;
      h.hook.poststart({ subscribe: () => (opens++, subscribe()) });
      await h.clock.advance(1000);
      expect(opens).toBe(2);
      expect(h.levels()).toEqual(["error"]);
    }
  });

  it("follows the waits it is given", async () => {
    const h = harness({ backoff: { base: 100, limit: 300 } });
    const source = scripted(new Error("no"));
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(900);
    expect(source.opened).toEqual([0, 100, 300, 600, 900]);
  });

  it("a new start of the task begins with the first wait again", async () => {
    const h = harness();
    const source = scripted(new Error("no"));
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(12_000);
    await h.hook.exited();
    h.hook.poststart(source.at(h.clock));
    await h.clock.advance(1000);
    expect(source.opened.slice(-2)).toEqual([12_000, 13_000]);
  });
});

describe("failures during the stream", () => {
  it("a failure after a sample is a warning once a minute, and the stream opens again after one interval", async () => {
    const h = harness({ interval: 10_000 });
    const opened: number[] = [];
    h.hook.poststart({
      async *stats() {
        opened.push(h.clock.monotonic());
        yield 1;
        throw new Error("decode");
      },
    });
    await h.clock.advance(60_000);
    expect(opened).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(h.levels()).toEqual(["warn", "warn"]);
  });

  it("a shutdown of the plugin during the stream is recognised: debug, and reopened within one backoff step", async () => {
    const h = harness({ interval: 60_000 });
    const source = driven();
    h.hook.poststart(source);
    source.calls[0]!.sink.next(1);
    source.calls[0]!.sink.end(new Error("rpc error: code = Unavailable desc = plugin is shut down"));
    expect(source.calls[0]!.stopped).toBe(1);
    await h.clock.advance(1000);
    expect(source.calls).toHaveLength(2);
    source.calls[1]!.sink.next(2);
    expect(h.updates.map(([, s]) => s)).toEqual([1, 2]);
    expect(h.levels()).toEqual(["debug"]);
  });

  it("an unrecoverable failure during the stream ends it", async () => {
    const h = harness();
    const source = driven();
    h.hook.poststart(source);
    source.calls[0]!.sink.next(1);
    source.calls[0]!.sink.end(Object.assign(new Error("denied"), { recoverable: false }));
    await h.clock.advance(600_000);
    expect(source.calls).toHaveLength(1);
    expect(h.levels()).toEqual(["debug"]);
  });
});

describe("exited and shutdown", () => {
  it("no update follows, also of a sample in flight, and the producer is released", async () => {
    const h = harness();
    let push!: (result: IteratorResult<number>) => void;
    let returned = 0;
    let signal!: AbortSignal;
    h.hook.poststart({
      stats: (s) => {
        signal = s;
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => new Promise<IteratorResult<number>>((resolve) => (push = resolve)),
            return: async () => (returned++, { done: true as const, value: undefined }),
          }),
        };
      },
    });
    await h.clock.flush();
    push({ done: false, value: 1 });
    await h.hook.exited();
    await h.clock.flush();
    push({ done: false, value: 2 });
    await h.clock.flush();
    expect(h.updates).toEqual([]);
    expect(returned).toBe(1);
    expect(signal.aborted).toBe(true);
    expect(h.clock.pending).toEqual([]);
  });

  it("cuts a wait between streams and a backoff short, with no timer left", async () => {
    for (const answer of [1, new Error("no"), undefined]) {
      const h = harness();
      const source = scripted(answer);
      h.hook.poststart(source.at(h.clock));
      await h.clock.flush();
      expect(h.clock.pending).toHaveLength(1);
      await h.hook.exited();
      expect(h.clock.pending).toEqual([]);
      await h.clock.advance(60_000);
      expect(source.opened).toEqual([0]);
    }
  });

  it("is idempotent and harmless without a collector; a failing stream after it is not logged", async () => {
    const h = harness();
    await h.hook.exited();
    const source = driven();
    h.hook.poststart(source);
    await h.hook.exited();
    await h.hook.exited();
    source.calls[0]!.sink.end(new Error("gone"));
    source.calls[0]!.sink.next(1);
    expect(source.calls[0]!.stopped).toBe(1);
    expect(h.levels()).toEqual([]);
  });

  it("a source that opens after the exit is let go at once", async () => {
    const h = harness();
    let open!: (iterable: AsyncIterable<number>) => void;
    let returned = 0;
    h.hook.poststart({ stats: () => new Promise<AsyncIterable<number>>((resolve) => (open = resolve)) });
    await h.clock.flush();
    await h.hook.exited();
    open({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error("x")),
        return: async () => (returned++, { done: true as const, value: 0 }),
      }),
    });
    await h.clock.flush();
    expect(returned).toBe(1);

    const p = harness();
    let stopped = 0;
    let subscribed!: (stop: () => void) => void;
    p.hook.poststart({ subscribe: () => new Promise<() => void>((resolve) => (subscribed = resolve)) });
    await p.hook.exited();
    subscribed(() => void stopped++);
    await p.clock.flush();
    expect(stopped).toBe(1);
  });

  it("a broken one that opens after the exit, a throwing stop and a rejecting return() do no harm", async () => {
    const h = harness();
    let open!: (iterable: any) => void;
    h.hook.poststart({ stats: () => new Promise<AsyncIterable<number>>((resolve) => (open = resolve)) });
    await h.clock.flush();
    await h.hook.exited();
    open(null);
    await h.clock.flush();

    h.hook.poststart({
      subscribe: () => () => {
        throw new Error("stop");
      },
    });
    await h.clock.flush();
    await h.hook.exited();

    for (const end of [
      () => Promise.reject(new Error("return")),
      () => {
        throw new Error("return");
      },
    ]) {
      h.hook.poststart({
        stats: () => ({
          [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined), return: end as never }),
        }),
      });
      await h.clock.flush();
      await h.hook.exited();
      await h.clock.flush();
      expect(h.clock.pending).toEqual([]);
    }
  });

  it("shutdown waits until the source let go, a second at most, and is final", async () => {
    const h = harness();
    h.hook.poststart({
      stats: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => undefined),
          return: () => new Promise(() => undefined),
        }),
      }),
    });
    await h.clock.flush();
    let done = false;
    void h.hook.shutdown().then(() => (done = true));
    await h.clock.advance(999);
    expect(done).toBe(false);
    expect(h.clock.pending[0]).toMatchObject({ ref: false });
    await h.clock.advance(1);
    expect(done).toBe(true);
    const source = driven();
    h.hook.poststart(source);
    expect(source.calls).toEqual([]);
    await h.hook[Symbol.asyncDispose]();
  });

  it("an iterator without return() is simply left", async () => {
    const h = harness();
    h.hook.poststart({
      stats: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
    });
    await h.clock.flush();
    await h.hook.shutdown();
    expect(h.clock.pending).toEqual([]);
  });

  it("ten thousand exits at once settle, with every wait cancelled and no listener warning", async () => {
    const warning = vi.spyOn(process, "emitWarning");
    const hooks = Array.from({ length: 10_000 }, () => harness());
    for (const h of hooks) h.hook.poststart(scripted(1).at(h.clock));
    await hooks[0]!.clock.flush();
    await Promise.all(hooks.map((h) => h.hook.exited()));
    expect(hooks.every((h) => h.clock.pending.length === 0)).toBe(true);
    expect(warning).not.toHaveBeenCalled();
  });
});

describe("the updater", () => {
  it("that throws or rejects is logged once and does not end the collection", async () => {
    for (const update of [
      () => {
        throw new Error("store");
      },
      () => Promise.reject(new Error("store")),
    ]) {
      const h = harness({ update });
      const source = driven();
      h.hook.poststart(source);
      for (let i = 0; i < 3; i++) source.calls[0]!.sink.next(i);
      await h.clock.flush();
      expect(h.hook.counters).toMatchObject({ samples: 3, updateFailures: 3 });
      expect(h.levels()).toEqual(["error"]);
      expect(h.hook.latest()?.sample).toBe(2);
    }
  });
});

describe("latest", () => {
  it("tells the newest sample, its age and whether its task runs; it outlives the exit", async () => {
    const h = harness();
    expect(h.hook.latest()).toBeUndefined();
    const source = driven();
    h.hook.poststart(source);
    source.calls[0]!.sink.next(41);
    await h.clock.advance(250);
    expect(h.hook.latest()).toEqual({ sample: 41, ageMs: 250, running: true });
    await h.hook.exited();
    h.clock.setWall(0);
    await h.clock.advance(50);
    expect(h.hook.latest()).toEqual({ sample: 41, ageMs: 300, running: false });
  });

  it("stores samples with missing parts as they are", async () => {
    const hook = new StatsHook<{ cpu?: number }>({ update: () => undefined, interval: 1000 });
    hook.poststart({ subscribe: (sink) => (sink.next({}), () => undefined) });
    expect(hook.latest()?.sample).toEqual({});
    await hook.shutdown();
  });
});

describe("bad input", () => {
  it.each([
    ["interval", { interval: 0 }],
    ["interval", { interval: -1 }],
    ["interval", { interval: Number.NaN }],
    ["interval", { interval: 9 }],
    ["interval", { interval: Infinity }],
    ["interval", { interval: "1s" }],
    ["update", { update: undefined }],
    ["backoff", { backoff: { base: -1 } }],
  ])("a wrong %s is refused by name", (field, wrong) => {
    try {
      new StatsHook({ update: () => undefined, interval: 1000, ...wrong } as never);
      expect.unreachable();
    } catch (e) {
      expect(isOutriderError(e, "ERR_OUTRIDER_STATS_OPTION")).toBe(true);
      expect(e).toMatchObject({ details: { field } });
    }
  });

  it("a source without a function is refused before the running collector is touched", () => {
    const h = harness();
    const source = driven();
    h.hook.poststart(source);
    expect(() => h.hook.poststart({ stats: 5 } as never)).toThrow("stats must be a function");
    expect(source.calls[0]!.stopped).toBe(0);
  });
});
