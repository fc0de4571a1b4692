import { nsToMs, type CheckRestart } from "@outrider/nomad-structs";

/**
 * Decides when a failing check restarts its task: when it has failed without a break for `limit` − 1 intervals after the grace of the
 * task's start, and at least once after that grace. A stock agent does so by time too, not by counting answers. Times are monotonic ms.
 */
export class CheckRestartWatch {
  readonly #graceMs: number;
  readonly #patienceMs: number;
  #failingSince: number | undefined;

  constructor(rule: CheckRestart, intervalMs: number) {
    this.#graceMs = nsToMs(rule.Grace);
    this.#patienceMs = (rule.Limit - 1) * intervalMs;
  }

  /** Takes one result. Gives when the task is to be restarted unless another result or start comes before; undefined: not. */
  observe(ok: boolean, runningSince: number | undefined, now: number): number | undefined {
    if (ok) {
      this.#failingSince = undefined;
      return undefined;
    }
    this.#failingSince ??= now;
    if (runningSince === undefined) return undefined;
    const graceEnd = runningSince + this.#graceMs;
    if (now < graceEnd) return undefined;
    return Math.max(now, Math.max(this.#failingSince, graceEnd) + this.#patienceMs);
  }
}
