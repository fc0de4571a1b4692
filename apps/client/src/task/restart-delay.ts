import { sleep } from "@outrider/backoff";
import type { TaskContext } from "./task-context.ts";

/** The wait before a task starts again. It is on record, so that the next process waits out what is left of it. */
export class RestartDelay {
  readonly #c: Pick<TaskContext, "record" | "config" | "signals">;
  #skip: AbortController | undefined;

  constructor(context: Pick<TaskContext, "record" | "config" | "signals">) {
    this.#c = context;
  }

  /** Waits out a delay, also one that an earlier process began. Resolves early when it is skipped, and on kill and shutdown. */
  async wait(): Promise<void> {
    const { record, config, signals } = this.#c;
    const pending = record.local.pendingRestart;
    if (pending === undefined) return;
    const left = Math.min(Math.max(0, pending.atMs - config.clock.now()), pending.delayMs);
    this.#skip = new AbortController();
    const signal = AbortSignal.any([signals.either, this.#skip.signal]);
    if (left > 0) await sleep(left, { clock: config.clock, signal }).catch(() => undefined);
    this.#skip = undefined;
    // At a shutdown the delay stays on record for the next process.
    if (!signals.shutdown.aborted) record.setLocal({ pendingRestart: undefined });
  }

  get isWaiting(): boolean {
    return this.#skip !== undefined;
  }

  skip(): void {
    this.#skip?.abort();
  }
}
