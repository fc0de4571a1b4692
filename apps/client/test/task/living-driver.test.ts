import { ManualClock } from "@outrider/backoff/testing";
import { OutriderError } from "@outrider/foundation";
import { PluginShutdownError } from "@outrider/plugin-driver";
import { describe, expect, it } from "vitest";
import type { DriverInstance } from "../../src/driver/driver-manager.ts";
import { livingDriver } from "../../src/task/driver/living-driver.ts";

const started = new OutriderError("ERR_OUTRIDER_DRIVER_START", "killed before it served", { recoverable: true });
const broken = new OutriderError("ERR_OUTRIDER_DRIVER_UNKNOWN", "no such driver");
const instance = { name: "d", generation: 3 } as DriverInstance;

/** Fails with each reason in turn, then answers. */
function drivers(...reasons: Error[]): {
  asked: number[];
  dispense(name: string, o: { newerThan?: number }): Promise<DriverInstance>;
} {
  const asked: number[] = [];
  return {
    asked,
    async dispense(_name, { newerThan = 0 }) {
      asked.push(newerThan);
      const reason = reasons.shift();
      if (reason !== undefined) throw reason;
      return instance;
    },
  };
}

async function ask(
  of: ReturnType<typeof drivers>,
  o: { attempts?: number; signal?: AbortSignal } = {},
): Promise<DriverInstance> {
  const clock = new ManualClock();
  const asking = livingDriver(of, "d", { clock, newerThan: 2, signal: o.signal ?? new AbortController().signal, ...o });
  asking.catch(() => undefined);
  for (let i = 0; i < 20; i++) await clock.advance(50);
  return asking;
}

describe("a driver that is killed while it starts", () => {
  it("is asked for again and again", async () => {
    const some = drivers(started, new PluginShutdownError(), started);
    expect(await ask(some)).toBe(instance);
    expect(some.asked).toEqual([2, 2, 2, 2]);
  });

  it("is given up after the attempts that were allowed", async () => {
    const some = drivers(started, started, started);
    await expect(ask(some, { attempts: 2 })).rejects.toBe(started);
    expect(some.asked.length).toBe(2);
  });

  it("is not asked for again when it is unknown, or nobody waits any more", async () => {
    await expect(ask(drivers(broken))).rejects.toBe(broken);
    const stop = new AbortController();
    stop.abort(new Error("over"));
    await expect(ask(drivers(started), { signal: stop.signal })).rejects.toThrow("over");
  });
});
