import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import {
  type DriverPlugin,
  type DriverTaskEvent,
  type Fingerprint,
  PluginShutdownError,
} from "@outrider/plugin-driver";
import { afterEach, describe, expect, it } from "vitest";
import { createManagerOf, FIRST_FINGERPRINTS_MS } from "../../src/driver/driver-catalogue.ts";
import type { DriverChange, DriverManager } from "../../src/driver/driver-manager.ts";
import type { DriverSource, OpenedDriver } from "../../src/driver/driver-source.ts";

/** A stream that the test fills, fails and ends. */
class Pipe<T> {
  readonly #waiting: Array<() => void> = [];
  #items: T[] = [];
  #end: { reason?: Error } | undefined;
  opened = 0;

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }
  end(reason?: Error): void {
    this.#end = reason === undefined ? {} : { reason };
    this.#wake();
  }
  reset(): void {
    this.#end = undefined;
    this.#items = [];
  }
  async *stream(signal: AbortSignal): AsyncGenerator<T> {
    this.opened++;
    while (!signal.aborted) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#end?.reason !== undefined) throw this.#end.reason;
      else if (this.#end !== undefined) return;
      else {
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    }
  }
  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

class FakeSource implements DriverSource {
  readonly name = "fake";
  readonly fingerprints = new Pipe<Fingerprint>();
  readonly events = new Pipe<DriverTaskEvent>();
  opens = 0;
  closes = 0;
  failures: Error[] = [];
  hold: Promise<void> | undefined;
  die: () => void = () => undefined;

  async open(): Promise<OpenedDriver> {
    this.opens++;
    await this.hold;
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    const gone = new Promise<void>((resolve) => (this.die = resolve));
    const plugin = {
      fingerprint: (signal: AbortSignal) => this.fingerprints.stream(signal),
      taskEvents: (signal: AbortSignal) => this.events.stream(signal),
    } as unknown as DriverPlugin;
    return { plugin, gone, close: async () => void this.closes++ };
  }
}

const healthy: Fingerprint = {
  attributes: { "driver.fake": { value: "1" }, "driver.fake.size": { value: 5, unit: "MB" } },
  health: "healthy",
  healthDescription: "Healthy",
};
const signal = new AbortController().signal;
let manager: DriverManager | undefined;
afterEach(() => manager?.[Symbol.asyncDispose]());

function setUp(): { source: FakeSource; clock: ManualClock; manager: DriverManager; changes: DriverChange[] } {
  const source = new FakeSource();
  const clock = new ManualClock();
  const made = createManagerOf({ sources: [source], clock, logger: noopLogger, random: () => 0.999 });
  manager = made;
  const changes: DriverChange[] = [];
  made.onChange((change) => changes.push(change));
  return { source, clock, manager: made, changes };
}

/** Lets promises settle. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("dispensing a driver", () => {
  it("makes one attempt for any number of callers and gives all the same instance", async () => {
    const { source, manager: m } = setUp();
    const all = await Promise.all(Array.from({ length: 30 }, () => m.dispense("fake", { signal })));
    expect(source.opens).toBe(1);
    expect(new Set(all).size).toBe(1);
    expect(all[0]?.generation).toBe(1);
    expect(m.names).toEqual(["fake"]);
  });

  it("refuses a name that is not in the catalogue", async () => {
    await expect(setUp().manager.dispense("docker", { signal })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_DRIVER_UNKNOWN",
      details: { driver: "docker" },
    });
  });

  it("opens a new generation when the old instance is gone, at once the first time", async () => {
    const { source, manager: m } = setUp();
    const first = await m.dispense("fake", { signal });
    source.die();
    await first.gone;
    const second = await m.dispense("fake", { signal });
    expect([second.generation, source.opens, source.closes]).toEqual([2, 2, 1]);
  });

  it("waits for the end of an instance that the caller saw fail, and gives the next one", async () => {
    const { source, manager: m } = setUp();
    const first = await m.dispense("fake", { signal });
    const waiting = m.dispense("fake", { signal, newerThan: first.generation });
    await settle();
    expect(source.opens).toBe(1);
    source.die();
    expect((await waiting).generation).toBe(2);
  });

  it("tells each caller of the attempt it took part in, and spaces attempts out", async () => {
    const { source, clock, manager: m } = setUp();
    source.failures = [new Error("no"), new Error("still no")];
    await expect(m.dispense("fake", { signal })).rejects.toThrow("no");
    const second = m.dispense("fake", { signal });
    const third = m.dispense("fake", { signal });
    second.catch(() => undefined);
    third.catch(() => undefined);
    await settle();
    expect(source.opens).toBe(1);
    await clock.advance(100);
    await expect(second).rejects.toThrow("still no");
    await expect(third).rejects.toThrow("still no");
    const fourth = m.dispense("fake", { signal });
    await settle();
    await clock.advance(199);
    expect(source.opens).toBe(2);
    await clock.advance(1);
    expect((await fourth).generation).toBe(1);
  });

  it("settles at once with the reason of the caller's signal, and leaves the attempt to the others", async () => {
    const { source, manager: m } = setUp();
    let release: () => void = () => undefined;
    source.hold = new Promise((resolve) => (release = resolve));
    const abort = new AbortController();
    const mine = m.dispense("fake", { signal: abort.signal });
    const other = m.dispense("fake", { signal });
    await settle();
    abort.abort(new Error("enough"));
    await expect(mine).rejects.toThrow("enough");
    release();
    expect((await other).generation).toBe(1);
    await expect(m.dispense("fake", { signal: abort.signal })).rejects.toThrow("enough");
  });

  it("rejects after the manager was closed, and lets go of the instance", async () => {
    const { source, manager: m } = setUp();
    await m.dispense("fake", { signal });
    await m[Symbol.asyncDispose]();
    expect(source.closes).toBe(1);
    await expect(m.dispense("fake", { signal })).rejects.toThrow("driver manager is closed");
  });
});

describe("what drivers say", () => {
  it("is published when it differs, also to those who listen late", async () => {
    const { source, clock, manager: m, changes } = setUp();
    const started = m.start(signal);
    await settle();
    source.fingerprints.push(healthy);
    await started;
    expect(changes).toEqual([
      {
        name: "fake",
        attributes: { "driver.fake": "1", "driver.fake.size": "5MB" },
        info: {
          Attributes: { "driver.fake": "1", "driver.fake.size": "5MB" },
          Detected: true,
          Healthy: true,
          HealthDescription: "Healthy",
          UpdateTime: new Date(clock.now()).toISOString(),
        },
      },
    ]);
    source.fingerprints.push(healthy);
    source.fingerprints.push({ ...healthy, health: "unhealthy", healthDescription: "tired" });
    source.fingerprints.push({ ...healthy, error: "broken" });
    source.fingerprints.push({ attributes: {}, health: "undetected", healthDescription: "" });
    await settle();
    expect(
      changes
        .slice(1)
        .map(({ info: { Detected, Healthy, HealthDescription } }) => [Detected, Healthy, HealthDescription]),
    ).toEqual([
      [true, false, "tired"],
      [true, false, "failed to fingerprint driver"],
      [false, false, ""],
    ]);
    const late: DriverChange[] = [];
    m.onChange((change) => late.push(change))[Symbol.dispose]();
    source.fingerprints.push(healthy);
    await settle();
    expect(late).toHaveLength(1);
    expect(late[0]?.info.Detected).toBe(false);
  });

  it("is awaited for 50 s at most", async () => {
    const { clock, manager: m } = setUp();
    let ready = false;
    const started = m.start(signal).then(() => (ready = true));
    await settle();
    await clock.advance(FIRST_FINGERPRINTS_MS - 1);
    await settle();
    expect(ready).toBe(false);
    await clock.advance(1);
    await started;
  });

  it("counts as heard when the driver cannot be opened; the reason is shown and it is tried again", async () => {
    const { source, clock, manager: m, changes } = setUp();
    source.failures = [new Error("no such tool")];
    await m.start(signal);
    expect(changes.at(-1)?.info).toMatchObject({
      Detected: false,
      Healthy: false,
      HealthDescription: "failed to fingerprint driver: no such tool",
    });
    await clock.advance(5_200);
    source.fingerprints.push(healthy);
    await settle();
    expect(changes.at(-1)?.info.Healthy).toBe(true);
  });

  it("comes from the next process at once when one is gone", async () => {
    const { source, manager: m, changes } = setUp();
    const started = m.start(signal);
    await settle();
    source.fingerprints.push(healthy);
    await started;
    source.fingerprints.end(new PluginShutdownError());
    await settle();
    expect(changes.at(-1)?.info.HealthDescription).toContain("plugin is shut down");
    source.fingerprints.reset();
    source.die();
    source.fingerprints.push(healthy);
    await settle();
    expect(source.opens).toBe(2);
    expect(changes.at(-1)?.info.Healthy).toBe(true);
  });

  it("is asked with growing delays when its stream ends at once, never in a hot loop", async () => {
    const { source, clock, manager: m } = setUp();
    source.fingerprints.end();
    void m.start(signal);
    await settle();
    expect(source.fingerprints.opened).toBe(1);
    for (const [wait, opened] of [
      [5_000, 2],
      [10_000, 3],
      [20_000, 4],
      [40_000, 5],
      [80_000, 6],
      [120_000, 7],
      [120_000, 8],
    ] as const) {
      await clock.advance(wait - 1);
      await settle();
      expect(source.fingerprints.opened).toBe(opened - 1);
      await clock.advance(1);
      await settle();
      expect(source.fingerprints.opened).toBe(opened);
    }
  });

  it("routes task events to all listeners until they leave", async () => {
    const { source, manager: m } = setUp();
    void m.start(signal);
    const seen: string[] = [];
    const subscription = m.onTaskEvent(({ message }) => seen.push(message));
    const event: DriverTaskEvent = {
      taskId: "a/w/1",
      allocId: "a",
      taskName: "w",
      timestampMs: 0,
      message: "hello",
      annotations: {},
    };
    await settle();
    source.events.push(event);
    await settle();
    subscription[Symbol.dispose]();
    source.events.push({ ...event, message: "missed" });
    await settle();
    expect(seen).toEqual(["hello"]);
  });
});
