import { ManualClock } from "@outrider/backoff/testing";
import type { OutriderError } from "@outrider/foundation";
import { describe, expect, it } from "vitest";
import { StatsHook } from "../src/index.ts";
import { createSampler } from "../src/sampler/index.ts";
import { createTicker } from "../src/ticker.ts";
import { driven, harness } from "./harness.ts";
import { FakeProc } from "./sampler/fake-proc.ts";

const refused = (fn: () => unknown): OutriderError => {
  try {
    fn();
  } catch (e) {
    return e as OutriderError;
  }
  throw new Error("did not throw");
};

describe("what is told", () => {
  it("switched off: why nothing comes", () => {
    const h = harness({ collect: false });
    h.hook.poststart(driven());
    expect(h.log.lines).toEqual([["trace", "stats are not collected", {}]]);
  });

  it("the age of the newest sample counts from that sample", async () => {
    const h = harness();
    const source = driven();
    h.hook.poststart(source);
    await h.clock.advance(400);
    source.calls[0]!.sink.next(1);
    await h.clock.advance(100);
    expect(h.hook.latest()).toEqual({ sample: 1, ageMs: 100, running: true });
  });

  it("a pushing source that ends without a reason has not failed, one with a reason has", async () => {
    const h = harness();
    const source = driven();
    h.hook.poststart(source);
    source.calls[0]!.sink.next(1);
    source.calls[0]!.sink.end();
    expect(h.hook.counters).toMatchObject({ ends: 1, failures: 0 });
    await h.clock.advance(1000);
    source.calls[1]!.sink.next(2);
    source.calls[1]!.sink.end(new Error("broken"));
    expect(h.hook.counters).toMatchObject({ failures: 1 });
    expect(h.levels()).toContain("warn");
  });

  it("an updater may give back anything: null, an object, a thing with a strange member", () => {
    for (const back of [null, {}, JSON.parse('{"then":1}') as object]) {
      const h = harness({ update: () => back });
      const source = driven();
      h.hook.poststart(source);
      source.calls[0]!.sink.next(1);
      expect(h.hook.counters).toMatchObject({ samples: 1, updateFailures: 0 });
    }
  });
});

describe("messages say what is expected and what was given", () => {
  it("of the hook", () => {
    const make = (more: object) => refused(() => new StatsHook({ update: () => 1, interval: 1000, ...more }));
    expect(make({ update: "x" }).message).toBe('stats hook: update must be a function, got "x"');
    expect(make({ interval: 9 })).toMatchObject({
      message: 'stats hook: interval must be a number of ms >= 10, got "9"',
      details: { field: "interval", text: "9" },
    });
    const bad = make({ backoff: { base: -1, limit: 5 } });
    expect(bad.message).toContain("stats hook: backoff must be options of a backoff, got ");
    expect(bad.cause).toBeInstanceOf(RangeError);
    expect(refused(() => harness().hook.poststart({} as never)).message).toContain("a function (or give subscribe)");
  });

  it("of the ticker", () => {
    const ticker = createTicker({ clock: new ManualClock() });
    const bad = refused(() => ticker.every(2 ** 53, "k", () => false));
    expect(bad.message).toBe('ticker: intervalMs must be a number of ms >= 10, got "9007199254740992"');
    expect(bad.details).toEqual({ field: "intervalMs", text: "9007199254740992" });
    expect(() => ticker.every(Number.MAX_SAFE_INTEGER, "k", () => false)()).not.toThrow();
  });

  it("of the sampler", () => {
    using proc = new FakeProc();
    using sampler = createSampler({ procDir: proc.dir, sysDir: proc.dir });
    expect(refused(() => sampler.source({ id: "x" })).message).toContain('a process, a cgroup or both, got "x"');
    expect(refused(() => sampler.source({ id: "" })).message).toContain("a string that is not empty");
    expect(refused(() => sampler.source({ id: "x", pid: 0 })).message).toContain('a process id, got "0"');
    expect(refused(() => sampler.source({ id: "x", pid: 1, startTime: -1 })).message).toContain("a number of ticks");
    expect(refused(() => createSampler({ procDir: "/nowhere" })).message).toContain('no procfs of Linux at "/nowhere"');
  });
});

describe("the ticker", () => {
  it("an interval that is used again after its last job left starts a rhythm of its own", async () => {
    const clock = new ManualClock();
    const ticker = createTicker({ clock });
    const seen: string[] = [];
    const stop = ticker.every(100, "a", () => void seen.push("a") as never);
    await clock.advance(200);
    stop();
    stop();
    expect(clock.pending).toEqual([]);
    const again = ticker.every(100, "b", () => void seen.push("b") as never);
    stop();
    await clock.advance(200);
    expect(seen).toEqual(["a", "a", "b", "b"]);
    again();
    expect(clock.pending).toEqual([]);
  });
});
