import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger, type Logger } from "@outrider/foundation";
import { StatsHook, type StatsHookOptions, type StatsSink } from "../src/index.ts";

export type Line = [level: string, message: string | undefined, bindings: any];
export function logger(): Logger & { lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (bindings: object | string, message?: string) =>
    void lines.push(typeof bindings === "string" ? [level, bindings, {}] : [level, message, bindings]);
  const made = {
    ...noopLogger,
    lines,
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => made,
  };
  return made as never;
}

/** A hook over a clock that stands still. */
export function harness(more: Partial<StatsHookOptions<number>> = {}) {
  const clock = new ManualClock();
  const log = logger();
  const updates: Array<[at: number, sample: number]> = [];
  const hook = new StatsHook<number>({
    update: (sample) => void updates.push([clock.monotonic(), sample]),
    interval: 1000,
    logger: log,
    clock,
    ...more,
  });
  const levels = () => log.lines.map(([level]) => level);
  return { clock, log, updates, hook, levels };
}

/** A source in callback form that the test drives; `calls` has one entry per opening. */
export function driven() {
  const calls: Array<{ sink: StatsSink<number>; intervalMs: number; stopped: number }> = [];
  return {
    calls,
    subscribe: (sink: StatsSink<number>, intervalMs: number) => {
      const call = { sink, intervalMs, stopped: 0 };
      calls.push(call);
      return () => void call.stopped++;
    },
  };
}

/** A source in iterable form that fails as told, then yields one number and ends. */
export function scripted(...answers: Array<Error | number | undefined>) {
  const opened: number[] = [];
  return {
    opened,
    at: (clock: ManualClock) => ({
      async *stats() {
        opened.push(clock.monotonic());
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) throw answer;
        if (answer !== undefined) yield answer;
      },
    }),
  };
}
