import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@outrider/backoff";
import { ManualClock } from "@outrider/backoff/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExecInput, ExecOutput } from "../src/index.ts";
import { processIdentity } from "../src/process/process-identity.ts";
import { execProcess, execProcessStreaming } from "../src/serve/process-exec.ts";
import { processStats } from "../src/serve/process-stats.ts";

/** How long a process may take to get somewhere on a busy machine. */
const WAIT = { timeout: 20_000 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ope-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const place = () => ({ cwd: folder, env: { PATH: "/usr/bin:/bin", A: "1" }, clock: systemClock });
const forever = (): AbortSignal => new AbortController().signal;
async function* typed(...frames: readonly ExecInput[]): AsyncGenerator<ExecInput> {
  yield* frames;
}
const text = (s: string): Uint8Array => new TextEncoder().encode(s);

async function collect(frames: AsyncIterable<ExecOutput>): Promise<{ out: string; err: string; exits: unknown[] }> {
  const seen = { out: "", err: "", exits: [] as unknown[] };
  for await (const { stdout, stderr, exited } of frames) {
    seen.out += Buffer.from(stdout?.data ?? []).toString();
    seen.err += Buffer.from(stderr?.data ?? []).toString();
    if (exited !== undefined) seen.exits.push(exited);
  }
  return seen;
}

describe("a command beside a task", () => {
  it("runs in the task's folder with its environment, and its end comes last", async () => {
    const answer = await execProcess(place(), ["/bin/sh", "-c", 'pwd; echo "$A"; echo oops >&2; exit 3'], 0, forever());
    expect(Buffer.from(answer.stdout).toString()).toBe(`${folder}\n1\n`);
    expect(Buffer.from(answer.stderr).toString()).toBe("oops\n");
    expect(answer.exitResult).toEqual({ exitCode: 3, signal: 0, oomKilled: false });
  });

  it("gets what is typed, in order, and the end of it", async () => {
    const big = "x".repeat(300_000);
    const input = typed({ stdin: { data: text("a") } }, { stdin: { data: text(big) } }, {}, { stdin: { close: true } });
    const request = { command: ["/bin/cat"], tty: false };
    const seen = await collect(execProcessStreaming(place(), request, input, forever()));
    expect(seen).toEqual({ out: `a${big}`, err: "", exits: [{ exitCode: 0, signal: 0, oomKilled: false }] });
  });

  it("loses nothing to a slow reader", async () => {
    const run = execProcessStreaming(place(), { command: ["/usr/bin/seq", "1000000"], tty: false }, typed(), forever());
    let out = "";
    for await (const { stdout } of run) {
      out += Buffer.from(stdout?.data ?? []).toString();
      if (out.length < 300_000) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(out.split("\n").length).toBe(1_000_001);
  });

  it("does not mind input that nobody reads, and dies with it when it breaks off", async () => {
    const deaf = { command: ["/bin/true"], tty: false };
    const lots = Array.from({ length: 20 }, () => ({ stdin: { data: new Uint8Array(100_000) } }));
    expect((await collect(execProcessStreaming(place(), deaf, typed(...lots), forever()))).exits).toMatchObject([
      { exitCode: 0 },
    ]);
    // oxlint-disable-next-line require-yield
    const broken = (async function* (): AsyncGenerator<ExecInput> {
      throw new Error("connection lost");
    })();
    const seen = await collect(
      execProcessStreaming(place(), { command: ["/bin/sleep", "60"], tty: false }, broken, forever()),
    );
    expect(seen.exits).toEqual([{ exitCode: 137, signal: 9, oomKilled: false }]);
  });

  it("ends with its time, with what it wrote until then", async () => {
    const clock = new ManualClock();
    const late = execProcess(
      { ...place(), clock },
      ["/bin/sh", "-c", "echo early; touch there; sleep 60"],
      500,
      forever(),
    );
    await vi.waitFor(() => expect(existsSync(join(folder, "there"))).toBe(true), WAIT);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance(500);
    const { stdout, exitResult } = await late;
    expect([Buffer.from(stdout).toString(), exitResult.exitCode]).toEqual(["early\n", 137]);
  });

  it("is killed with all of its group when the caller goes away", async () => {
    const stop = new AbortController();
    const script = "sleep 86399 & echo $! >inner; wait";
    const run = execProcess(place(), ["/bin/sh", "-c", script], 0, stop.signal);
    run.catch(() => undefined);
    await vi.waitFor(() => expect(readFileSync(join(folder, "inner"), "utf8")).toMatch(/\n/), WAIT);
    const pid = Number(readFileSync(join(folder, "inner"), "utf8"));
    stop.abort(new Error("the caller has gone"));
    await expect(run).rejects.toThrow("the caller has gone");
    await vi.waitFor(() => expect(processIdentity(pid)).toBeUndefined(), WAIT);
    await expect(execProcess(place(), ["/bin/true"], 0, stop.signal)).rejects.toThrow("the caller has gone");
  });

  it("ends by its own signal, which its exit code tells as a shell would", async () => {
    const { exitResult } = await execProcess(place(), ["/bin/sh", "-c", "kill -TERM $$"], 0, forever());
    expect(exitResult).toEqual({ exitCode: 143, signal: 15, oomKilled: false });
  });

  it("finds the end of its input at once when it is not interactive", async () => {
    const { stdout, exitResult } = await execProcess(place(), ["/bin/cat"], 60_000, forever());
    expect([stdout.length, exitResult.exitCode]).toEqual([0, 0]);
  });

  it("leaves no timer behind, and has none without a limit", async () => {
    const clock = new ManualClock();
    const limited = execProcess({ ...place(), clock }, ["/bin/true"], 500, forever());
    expect(clock.pending).toHaveLength(1);
    await limited;
    expect(clock.pending).toEqual([]);
    const free = execProcess({ ...place(), clock }, ["/bin/true"], 0, forever());
    expect(clock.pending).toEqual([]);
    await free;
  });

  it("is killed when its reader has seen enough, and lets go of its input", async () => {
    let returned = false;
    const input: AsyncIterable<ExecInput> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          returned = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const command = ["/bin/sh", "-c", "echo $$; exec sleep 86399"];
    let pid = 0;
    for await (const { stdout } of execProcessStreaming(place(), { command, tty: false }, input, forever())) {
      pid = Number(Buffer.from(stdout?.data ?? []).toString());
      break;
    }
    expect(pid).toBeGreaterThan(1);
    await vi.waitFor(() => expect(processIdentity(pid)).toBeUndefined());
    expect(returned).toBe(true);
  });

  it("is an error when it cannot be started", async () => {
    await expect(execProcess(place(), ["/no/such/program"], 0, forever())).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE",
      recoverable: false,
      message: expect.stringContaining("ENOENT") as string,
    });
  });

  it.skipIf(!existsSync("/usr/bin/script"))("has a terminal of the right size when one is asked for", async () => {
    const command = [
      "/bin/sh",
      "-c",
      `test -t 0 && test -t 1 && echo "a 'b'"; until stty size | grep -q '^40 120'; do sleep 0.02; done; stty size; exit 5`,
    ];
    const stop = new AbortController();
    const input = (async function* (): AsyncGenerator<ExecInput> {
      while (!stop.signal.aborted) {
        yield { ttySize: { height: 40, width: 120 } };
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const seen = await collect(execProcessStreaming(place(), { command, tty: true }, input, forever()));
    stop.abort();
    expect(seen).toMatchObject({ out: "a 'b'\r\n40 120\r\n", exits: [{ exitCode: 5 }] });
  });
});

describe("the usage of a process", () => {
  it("is told until it is gone, and says why when it cannot be told", async () => {
    const own = { pid: process.pid, startTime: "1", bootId: "b" };
    // Another start time: that process is gone.
    const seen: unknown[] = [];
    for await (const sample of processStats(own, 10, forever(), systemClock)) seen.push(sample);
    expect(seen).toEqual([]);
    const stop = new AbortController();
    const startTime = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ")[19] ?? "";
    const samples = processStats({ ...own, startTime }, 10, stop.signal, systemClock);
    const first = await samples.next();
    expect(first.value?.ResourceUsage?.MemoryStats?.RSS).toBeGreaterThan(1_000_000);
    await samples.next();
    stop.abort();
    expect((await samples.next()).done).toBe(true);
  });
});
