import type { PauseRequest } from "@outrider/alloc-runner";
import { sleep, type Clock } from "@outrider/backoff";
import type { Schedule } from "@outrider/cron-schedule";
import type { Logger } from "@outrider/foundation";
import { isPaused, type TaskPauseState } from "@outrider/nomad-structs";
import { pauseTransition, type PauseInput, type PauseStep } from "./pause-transition.ts";

/** A wall clock that goes back by less than this does not make a task flap. */
const CLOCK_STEP_MS = 120_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The wall clock is looked at every minute near an edge and every six hours far from one, so that a suspended machine or a set clock is noticed. */
function sliceMs(leftMs: number): number {
  return leftMs > HOUR_MS ? Math.min(leftMs - HOUR_MS, 6 * HOUR_MS) : Math.min(Math.max(leftMs, 1), MINUTE_MS);
}

export interface PauseControllerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Keeps the new state (and its event) before anything acts on it. */
  readonly record: (step: PauseStep) => void;
  /** The process must stop: it runs although the state is a pause. Called again until it is acted on. */
  readonly stop: () => void;
}

/**
 * The pause state of one task: its schedule and the user's overrides (cron-schedule.md 4 and 8). Level-triggered: at every wake the wanted
 * state is worked out anew from the wall clock, so a missed edge heals itself.
 */
export class PauseController {
  readonly #options: PauseControllerOptions;
  readonly #wake = new Set<() => void>();
  #state: TaskPauseState = "";
  #schedule: Schedule | undefined;
  #highWaterMs = -Infinity;
  #warnedExhausted = false;

  constructor(options: PauseControllerOptions) {
    this.#options = options;
  }

  /** Takes up the state of a former process; it is brought up to date at the next look. */
  restore(saved: TaskPauseState): void {
    this.#state = saved === "schedule_resume" ? "" : saved;
  }

  get state(): TaskPauseState {
    return this.#state;
  }

  /** A new, changed or removed schedule; overrides survive it. */
  setSchedule(schedule: Schedule | undefined): void {
    this.#schedule = schedule;
    this.#warnedExhausted = false;
    // Without a schedule nothing will ever open the gate again.
    if (schedule === undefined && this.#state === "scheduled_pause") this.#apply("window-opens", true);
    this.#wakeAll();
  }

  /** A user's request; the settled state is readable when this returns. */
  request(request: PauseRequest): void {
    const input = request === "force_pause" ? "pause" : request === "force_run" ? "run" : "scheduled";
    const step = this.#apply(input, this.#look().inside);
    if (step.action === "stop") this.#options.stop();
    this.#wakeAll();
  }

  /** Waits until the task may run. Rejects with the signal's reason. */
  async gate(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const edge = this.#evaluate();
      if (!isPaused(this.#state)) return;
      await this.#next(edge, signal);
    }
  }

  /** While the task runs: stops it when its window closes. Ends with the signal. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const edge = this.#evaluate();
      if (isPaused(this.#state)) this.#options.stop();
      await this.#next(edge, signal).catch(() => undefined);
    }
  }

  /** Brings the state up to date with the window. Gives the next edge, if any. */
  #evaluate(): number | undefined {
    const { inside, edge } = this.#look();
    if (this.#schedule !== undefined) this.#apply(inside ? "window-opens" : "window-closes", inside);
    return edge;
  }

  #apply(input: PauseInput, inside: boolean): PauseStep {
    const step = pauseTransition(this.#state, input, inside);
    if (step.to === this.#state && step.event === undefined) return step;
    this.#state = step.to;
    this.#options.record(step);
    return step;
  }

  #look(): { readonly inside: boolean; readonly edge: number | undefined } {
    const schedule = this.#schedule;
    if (schedule === undefined) return { inside: true, edge: undefined };
    const wall = this.#options.clock.now();
    const steppedBack = this.#highWaterMs - wall;
    const now = steppedBack > 0 && steppedBack < CLOCK_STEP_MS ? this.#highWaterMs : wall;
    this.#highWaterMs = now;
    const { inWindow, nextStart, nextEnd } = schedule.evaluate(now);
    const edge = inWindow ? nextEnd : nextStart;
    if (!inWindow && edge === null && !this.#warnedExhausted) {
      this.#warnedExhausted = true;
      this.#options.logger.warn("schedule has no further window: the task stays paused");
    }
    return { inside: inWindow, edge: edge?.getTime() };
  }

  /** Until the next look at the clock, or a change. */
  #next(edge: number | undefined, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const timer = edge === undefined ? undefined : new AbortController();
      const leave = (): void => {
        this.#wake.delete(changed);
        signal.removeEventListener("abort", aborted);
        timer?.abort();
      };
      const changed = (): void => {
        leave();
        resolve();
      };
      const aborted = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      this.#wake.add(changed);
      signal.addEventListener("abort", aborted, { once: true });
      if (edge === undefined || timer === undefined) return;
      const { clock } = this.#options;
      sleep(sliceMs(edge - clock.now()), { clock, signal: timer.signal, ref: false }).then(changed, () => undefined);
    });
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake();
  }
}
