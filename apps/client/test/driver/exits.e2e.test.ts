import { constants } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.ts";

let h: Harness;
beforeAll(async () => {
  h = await startHarness();
});
afterAll(() => h.close());

async function inBatches<T>(items: readonly T[], size: number, run: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += size) await Promise.all(items.slice(i, i + size).map(run));
}

async function outcome(script: string): Promise<string> {
  const driver = await h.driver();
  const { config } = await h.prepare("/bin/sh", ["-c", script], { stdoutPath: "/dev/null", stderrPath: "/dev/null" });
  await driver.startTask(config);
  const { exitCode, signal } = await driver.waitTask(config.id);
  await driver.destroyTask(config.id, false);
  return `${exitCode}/${signal}`;
}

describe("exit results", () => {
  it("tells every exit code apart, also those that look like signals", async () => {
    const codes = Array.from({ length: 256 }, (_, code) => code);
    const seen: string[] = [];
    await inBatches(codes, 32, async (code) => {
      seen[code] = await outcome(`exit ${code}`);
    });
    expect(seen).toEqual(codes.map((code) => `${code}/0`));
  });

  it("tells every deadly signal by its number", async () => {
    // those that do not end a process by default, and the two that the C library keeps for itself
    const harmless = new Set(
      ["SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH"].map(
        (name) => constants.signals[name as NodeJS.Signals],
      ),
    );
    const signals = Array.from({ length: 64 }, (_, i) => i + 1).filter((n) => !harmless.has(n) && n !== 32 && n !== 33);
    expect(signals).toHaveLength(54);
    const seen = new Map<number, string>();
    await inBatches(signals, 32, async (signal) => {
      seen.set(signal, await outcome(`kill -${signal} $$; sleep 5`));
    });
    expect([...seen].sort(([a], [b]) => a - b)).toEqual(signals.map((n) => [n, `${128 + n}/${n}`]));
  });
});
