import { ManualClock } from "@outrider/backoff/testing";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/index.ts";
import { runCommand } from "../../src/cli/run.ts";
import { recording, replayAgent, type Recording } from "./replay-agent.ts";

const JOBS = fileURLToPath(new URL("../fixtures/cli/jobs/", import.meta.url));

/** A command line as the shell would split it. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map((m) => m[1] ?? (m[2] as string)).slice(1);

/** The time at which the recorded tool ran: its latest relative time gives it away, else the newest event. */
async function replay(
  name: string,
  o: { nowMs: number; interruptWhen?: (stdout: string) => boolean },
): Promise<{
  code: number;
  stdout: string;
  stderr: string;
  missed: string[];
  unused: string[];
  record: Recording;
  bodies: unknown[];
}> {
  const record = recording(name);
  let stdout = "";
  let stderr = "";
  const agent = await replayAgent(record, { settled: () => !/ -f /.test(record.command) || stdout !== "" });
  const clock = new ManualClock({ now: o.nowMs });
  const stop = new AbortController();
  const context: CommandContext = {
    stdout: {
      write: (text) => {
        stdout += typeof text === "string" ? text : Buffer.from(text).toString();
        if (o.interruptWhen?.(stdout)) stop.abort(new Error("interrupted"));
      },
    },
    stderr: { write: (text) => void (stderr += String(text)) },
    stdin: (async function* () {})(),
    env: {
      NOMAD_ADDR: agent.address,
      ...(name.endsWith("with-token-namespace")
        ? { NOMAD_TOKEN: "secret", NOMAD_NAMESPACE: "default", NOMAD_REGION: "global" }
        : {}),
    },
    cwd: JOBS,
    clock,
    signal: stop.signal,
  };
  const running = runCommand(COMMANDS, context, words(record.command));
  let settled = false;
  void running.finally(() => (settled = true)).catch(() => undefined);
  while (!settled) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(10);
  }
  const code = await running;
  await agent.close();
  return { code, stdout, stderr, missed: agent.missed, unused: agent.unused(), record, bodies: agent.bodies };
}

/** Relative times depend on when the tool ran: what stands before `ago` is compared by its shape only. */
const timeless = (text: string): string =>
  text
    .replace(/(?:\d+(?:y|mo|d|h|m|s))+ (ago|from now)/g, "T $1")
    .replace(/ +$/gm, "")
    .replace(/  +/g, "  ");

/** The recorded node bodies were cut: their drivers, allocations and attributes are not those that the tool printed. */
const comparable = (name: string, text: string): string =>
  name.startsWith("node-status")
    ? timeless(text)
        .replace(/^Driver Status.*$/m, "")
        .replace(/(\nAllocations\nID[^\n]*)[^]*$/, "$1")
    : timeless(text);

const all = readdirSync(fileURLToPath(new URL("../fixtures/cli/", import.meta.url)))
  .filter((f) => f.endsWith(".json"))
  .map((f) => f.slice(0, -5));

/** Recordings whose output our command does not repeat, each with the reason. */
const DIFFERENT: Record<string, string> = {
  "alloc-pause-status": "the recorded edition refuses pauses",
};

process.env["TZ"] = "UTC";
const NOW = Date.parse("2026-11-30T14:00:00Z");

describe("commands against recorded answers of a stock Nomad 2.0.5", () => {
  const reading = all.filter(
    (n) =>
      /^(job-status|alloc-status|node-status|alloc-logs|alloc-restart|alloc-pause|alloc-signal)/.test(n) &&
      !(n in DIFFERENT),
  );
  it.each(reading)("%s: same calls, same exit code, same output", async (name) => {
    const result = await replay(name, { nowMs: NOW });
    expect(result.missed).toEqual([]);
    expect(result.code).toBe(typeof result.record.exit_code === "number" ? result.record.exit_code : 0);
    if (name.endsWith("-json")) expect(JSON.parse(result.stdout)).toBeTypeOf("object");
    else expect(comparable(name, result.stdout)).toBe(comparable(name, result.record.stdout));
    if (result.record.exit_code === 1) expect(result.stderr).not.toBe("");
  });
});

describe("commands that change something, against recorded answers", () => {
  const writing = all.filter((n) => /^(job-run|job-validate|job-stop|alloc-stop)/.test(n));

  /** Recordings whose exit code or output differs on purpose. */
  const OWN: Record<string, string> = {
    "job-run-failing": "the file asks for a driver configuration that the recording's agent alone knows",
  };

  it.each(writing.filter((n) => !(n in OWN)))("%s: same calls, same exit code, same lines", async (name) => {
    const result = await replay(name, {
      nowMs: NOW,
      interruptWhen: (text) => name === "job-run-unplaceable" && text.includes("Progress Deadline"),
    });
    expect(result.missed).toEqual([]);
    const code = result.record.exit_code;
    expect(result.code).toBe(typeof code === "number" ? code : 130);
    const lines = (text: string): string => timeless(text).replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME");
    expect(lines(result.stdout)).toBe(lines(result.record.stdout));
  });

  it("sends the job, its source and what was asked for", async () => {
    const { bodies } = await replay("job-run-check-index", { nowMs: NOW });
    expect(bodies[0]).toMatchObject({
      EnforceIndex: true,
      JobModifyIndex: 1,
      Job: { ID: "web" },
      Submission: { Format: "hcl2", Source: expect.stringContaining('job "web"') },
    });
  });
});
