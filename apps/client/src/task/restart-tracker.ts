import { formatDuration, RESTART_WITHIN_POLICY } from "@outrider/nomad-structs";
import type { ExitResult } from "@outrider/plugin-driver";

/** The policy of a `restart` block; times in nanoseconds. */
export interface RestartPolicy {
  readonly Attempts: number;
  readonly Interval: number;
  readonly Delay: number;
  readonly Mode: string;
}

/** What follows an end of the task. */
export type RestartDecision =
  | { readonly kind: "killed" | "terminated" }
  | { readonly kind: "not-restarting"; readonly reason: string }
  | { readonly kind: "restarting"; readonly reason: string; readonly delayNs: number };

/** What of a tracker survives a restart of the agent. */
export interface RestartCount {
  readonly count: number;
  /** Begin of the interval, epoch ms. */
  readonly startMs: number;
}

/** What the job says. */
export interface RestartRules {
  readonly policy: RestartPolicy;
  readonly jobType: string;
  /** Undefined for a main task. */
  readonly lifecycle?: { readonly hook: string; readonly sidecar: boolean } | undefined;
}

export interface RestartTrackerOptions extends RestartRules {
  readonly nowMs: number;
  readonly random: () => number;
}

/** Reasons as they appear in events. */
const NO_RESTARTS = "Policy allows no restarts";
const UNRECOVERABLE = "Error was unrecoverable";
const JITTER = 0.25;

/**
 * Decides whether and when a task starts again (client-runtime.md 4.4). Facts about one end are set first, then `next` decides and
 * forgets them.
 */
export class RestartTracker {
  #onSuccess: boolean;
  readonly #random: () => number;
  #policy: RestartPolicy;
  #count = 0;
  #startMs: number;
  #startError: { readonly recoverable: boolean } | undefined;
  #exit: ExitResult | undefined;
  #killed = false;
  #triggered = false;
  #failure = false;

  constructor(options: RestartTrackerOptions) {
    this.#policy = options.policy;
    this.#random = options.random;
    this.#startMs = options.nowMs;
    this.#onSuccess = restartsOnSuccess(options.jobType, options.lifecycle);
  }

  /** A new version of the job: the count stays. */
  update(rules: RestartRules): void {
    this.#policy = rules.policy;
    this.#onSuccess = restartsOnSuccess(rules.jobType, rules.lifecycle);
  }

  /** Takes up the count of a former process. */
  restore(saved: RestartCount): void {
    this.#count = saved.count;
    this.#startMs = saved.startMs;
  }

  get count(): RestartCount {
    return { count: this.#count, startMs: this.#startMs };
  }

  /** The task could not be started. */
  setStartError(error: { readonly recoverable: boolean }): void {
    this.#startError = error;
    this.#failure = true;
  }

  /** The task ended. */
  setExit(result: ExitResult): void {
    this.#exit = result;
    this.#failure = true;
  }

  /** The end was asked for: nothing restarts. */
  setKilled(): void {
    this.#killed = true;
  }

  get isKilled(): boolean {
    return this.#killed;
  }

  /** A restart was asked for. One that counts as a failure (a failing check) goes through the policy. */
  setRestartTriggered(failure: boolean): void {
    if (failure) this.#failure = true;
    else this.#triggered = true;
  }

  /** A start that follows makes older facts void. */
  forget(): void {
    this.#startError = undefined;
    this.#exit = undefined;
    this.#killed = false;
    this.#triggered = false;
    this.#failure = false;
  }

  next(nowMs: number): RestartDecision {
    const decision = this.#decide(nowMs);
    this.forget();
    return decision;
  }

  #decide(nowMs: number): RestartDecision {
    if (this.#killed) return { kind: "killed" };
    if (this.#triggered) return { kind: "restarting", reason: "", delayNs: 0 };
    const { Attempts, Interval, Mode } = this.#policy;
    const enough = this.#exit !== undefined && isSuccess(this.#exit) && !this.#onSuccess;
    if (Attempts === 0) return enough ? { kind: "terminated" } : { kind: "not-restarting", reason: NO_RESTARTS };
    const intervalMs = Interval / 1e6;
    if (nowMs > this.#startMs + intervalMs) {
      this.#count = 0;
      this.#startMs = nowMs;
    }
    this.#count += 1;
    if (!this.#failure) return { kind: "restarting", reason: "", delayNs: 0 };
    if (this.#startError !== undefined) {
      if (!this.#startError.recoverable) return { kind: "not-restarting", reason: UNRECOVERABLE };
    } else if (enough) {
      return { kind: "terminated" };
    }
    if (this.#count > Attempts) {
      if (Mode === "delay") {
        const leftMs = Math.max(0, this.#startMs + intervalMs - nowMs);
        const reason = "Exceeded allowed attempts, applying a delay";
        return { kind: "restarting", reason, delayNs: Math.trunc(leftMs * 1e6) };
      }
      const reason = `Exceeded allowed attempts ${Attempts} in interval ${formatDuration(Interval)} and mode is "fail"`;
      return { kind: "not-restarting", reason };
    }
    return { kind: "restarting", reason: RESTART_WITHIN_POLICY, delayNs: this.#jittered() };
  }

  #jittered(): number {
    const delay = Math.max(1, this.#policy.Delay);
    return delay + Math.trunc(JITTER * Math.floor(this.#random() * delay));
  }
}

/** Exit code 0, no signal, no error. */
export function isSuccess(result: ExitResult): boolean {
  return result.exitCode === 0 && result.signal === 0 && (result.error === undefined || result.error === "");
}

function restartsOnSuccess(jobType: string, lifecycle: RestartTrackerOptions["lifecycle"]): boolean {
  if (lifecycle?.hook === "poststop") return false;
  if (lifecycle?.hook === "prestart" || lifecycle?.hook === "poststart") return lifecycle.sidecar;
  return jobType !== "batch" && jobType !== "sysbatch";
}
