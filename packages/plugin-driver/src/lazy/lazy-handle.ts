/** A task's handle for hooks: always the current one, found again after the plugin was replaced. */
import { sleep, systemClock, type Clock } from "@outrider/backoff";
import { noopLogger, type Logger } from "@outrider/foundation";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import type { ExecResult } from "../contract/driver.ts";
import { isPluginShutdown, PluginShutdownError } from "../contract/errors.ts";

/** How long a call waits for the task to be recovered by a newer plugin instance. */
export const DEFAULT_HANDLE_WAIT_MS = 15_000;
const POLL_MS = 100;

/** A task at one plugin instance. @public */
export interface TaskDriverHandle {
  /** Of the plugin instance; a greater number is a newer instance. */
  readonly generation: number;
  stats(signal: AbortSignal, intervalMs: number): AsyncIterable<TaskResourceUsage>;
  exec(command: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ExecResult>;
}

/** Options of {@link createLazyHandle}. @public */
export interface LazyHandleOptions {
  /** The task's handle now; called for every use, never kept. */
  readonly retrieve: () => TaskDriverHandle | undefined;
  /** Ends every wait and every stream; usually the task's own. */
  readonly signal: AbortSignal;
  /** Default {@link DEFAULT_HANDLE_WAIT_MS}. */
  readonly waitMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** What hooks get. @public */
export interface LazyHandle {
  /**
   * Samples of the task, across replacements of the plugin: after a shutdown error the stream goes on with the newer instance.
   * Throws what the driver throws; `PluginShutdownError` when no newer instance came in time.
   */
  stats(signal: AbortSignal, intervalMs: number): AsyncIterable<TaskResourceUsage>;
  /** Repeated once with a newer instance when the plugin went away; the command may then have run twice. */
  exec(command: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ExecResult>;
}

/**
 * Makes a handle that never holds on to a dead plugin: no cache, no lock, no stale retry, and every wait can be aborted.
 *
 * Answers to hashicorp/nomad#5936: a shutdown during TaskStats is recognised, and a refresh really calls again.
 * @public
 */
export function createLazyHandle(o: LazyHandleOptions): LazyHandle {
  const { clock = systemClock, logger = noopLogger, waitMs = DEFAULT_HANDLE_WAIT_MS } = o;

  /** The first handle newer than `generation`; undefined when none comes in time. */
  async function newer(generation: number, signal: AbortSignal): Promise<TaskDriverHandle | undefined> {
    const until = clock.monotonic() + waitMs;
    for (;;) {
      signal.throwIfAborted();
      const handle = o.retrieve();
      if (handle !== undefined && handle.generation > generation) return handle;
      const left = until - clock.monotonic();
      if (left <= 0) return undefined;
      await sleep(Math.min(POLL_MS, left), { clock, signal });
    }
  }

  async function exec(command: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ExecResult> {
    const both = AbortSignal.any([signal, o.signal]);
    const first = await newer(-Infinity, both);
    if (first === undefined) throw new PluginShutdownError();
    try {
      return await first.exec(command, timeoutMs, both);
    } catch (reason) {
      if (!isPluginShutdown(reason)) throw reason;
      logger.debug({ generation: first.generation }, "plugin went away during exec, waiting for its successor");
      const second = await newer(first.generation, both);
      if (second === undefined) throw reason;
      return second.exec(command, timeoutMs, both);
    }
  }

  async function* samples(signal: AbortSignal, intervalMs: number): AsyncGenerator<TaskResourceUsage, undefined> {
    let generation = -Infinity;
    let lost: unknown = new PluginShutdownError();
    for (;;) {
      const handle = await newer(generation, signal);
      if (handle === undefined) throw lost;
      generation = handle.generation;
      try {
        yield* handle.stats(signal, intervalMs);
        return undefined;
      } catch (reason) {
        if (!isPluginShutdown(reason)) throw reason;
        lost = reason;
        logger.debug({ generation }, "plugin went away during stats, waiting for its successor");
      }
    }
  }

  /** Leaving the loop ends a pending wait too, which a bare generator would sit out. */
  function stats(signal: AbortSignal, intervalMs: number): AsyncIterable<TaskResourceUsage> {
    return {
      [Symbol.asyncIterator]() {
        const left = new AbortController();
        const source = samples(AbortSignal.any([signal, o.signal, left.signal]), intervalMs);
        const done = { done: true, value: undefined } as const;
        return {
          next: () =>
            source.next().catch((reason: unknown) => (left.signal.aborted ? done : Promise.reject(reason as Error))),
          return: async () => {
            left.abort();
            await source.return(undefined).catch(() => undefined);
            return done;
          },
        };
      },
    };
  }

  return { stats, exec };
}
