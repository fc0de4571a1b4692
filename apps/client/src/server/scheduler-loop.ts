import type { Clock } from "@outrider/backoff";
import { backoff } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { Evaluation } from "@outrider/nomad-structs";
import { Alarm } from "./alarm.ts";
import { failOverdueDeployments, nextProgressDeadlineMs } from "./deployment-watch.ts";
import { updateEval } from "./evaluations.ts";
import { refreshJobStatus } from "./job-status.ts";
import { dueLaunches, launchDue } from "./periodic.ts";
import { processEval, type SchedulerDeps } from "./scheduler.ts";
import type { StateKeeper } from "./state-keeper.ts";
import type { Tables } from "./tables.ts";

/** Evaluations worked through in one durable step. */
const MAX_PER_STEP = 64;

interface LoopOptions {
  readonly state: StateKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deps: SchedulerDeps;
}

/** Works through pending evaluations, periodic launches and deadlines of deployments, each when it is due. */
export class SchedulerLoop implements AsyncDisposable {
  readonly #o: LoopOptions;
  readonly #alarm: Alarm;
  #running: Promise<void> | undefined;
  #again = false;
  #ended = false;
  #failures = 0;

  constructor(o: LoopOptions) {
    this.#o = o;
    this.#alarm = new Alarm(o.clock, () => this.kick());
  }

  /** Looks at what is due. Cheap; call it after every change. */
  kick(): void {
    if (this.#ended) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is due any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.#alarm[Symbol.dispose]();
    await this.#running;
  }

  async #run(): Promise<void> {
    let retryMs: number | undefined;
    while (this.#again && !this.#ended && retryMs === undefined) {
      this.#again = false;
      try {
        while (!this.#ended && (await this.#step()));
        this.#failures = 0;
      } catch (reason) {
        this.#failures += 1;
        retryMs = backoff(1000, 30_000, this.#failures - 1);
        this.#o.logger.error({ err: reason, delayMs: retryMs }, "scheduler: a step failed, it is tried again");
      }
    }
    this.#running = undefined;
    const now = this.#o.clock.now();
    this.#alarm.set(retryMs === undefined ? nextDueMs(this.#o.state.tables, now) : now + retryMs);
  }

  /** One durable step; false when nothing was due. */
  async #step(): Promise<boolean> {
    const { state, clock } = this.#o;
    const now = clock.now();
    if (somethingTimed(state.tables, now)) {
      await state.commit((tx) => {
        failOverdueDeployments(tx, this.#o.deps.newId);
        launchDue(tx, state.tables, this.#o.deps.newId);
      });
    }
    const due = dueEvals(state.tables, now);
    if (due.length === 0) return false;
    try {
      await state.commit((tx) => {
        for (const { ID } of due) {
          const evaluation = tx.evals.get(ID);
          if (evaluation?.Status !== "pending") continue;
          processEval(tx, evaluation, this.#o.deps);
          tx.advance();
        }
      });
    } catch (reason) {
      if (isStateFailure(reason)) throw reason;
      await this.#oneByOne(due);
    }
    return true;
  }

  /** One bad evaluation must not keep the others from being worked through. */
  async #oneByOne(due: readonly Evaluation[]): Promise<void> {
    for (const { ID } of due) {
      try {
        await this.#o.state.commit((tx) => {
          const evaluation = tx.evals.get(ID);
          if (evaluation?.Status === "pending") processEval(tx, evaluation, this.#o.deps);
        });
      } catch (reason) {
        if (isStateFailure(reason)) throw reason;
        this.#o.logger.error({ err: reason, evalId: ID }, "scheduler: an evaluation failed");
        await this.#o.state.commit((tx) => {
          const evaluation = tx.evals.get(ID);
          if (evaluation === undefined) return;
          updateEval(tx, evaluation, {
            Status: "failed",
            StatusDescription: reason instanceof Error ? reason.message : String(reason),
          });
          refreshJobStatus(tx, evaluation.Namespace, evaluation.JobID);
        });
      }
    }
  }
}

function isStateFailure(reason: unknown): boolean {
  return (
    typeof reason === "object" &&
    reason !== null &&
    String((reason as { code?: unknown }).code).startsWith("ERR_OUTRIDER_STATE_")
  );
}

function dueEvals(tables: Tables, now: number): Evaluation[] {
  return tables.evals
    .by("status", "pending")
    .filter((evaluation) => evaluation.WaitUntil === null || Date.parse(evaluation.WaitUntil) <= now)
    .sort((a, b) => b.Priority - a.Priority || a.CreateIndex - b.CreateIndex)
    .slice(0, MAX_PER_STEP);
}

function somethingTimed(tables: Tables, now: number): boolean {
  const deadline = nextProgressDeadlineMs(tables);
  if (deadline !== undefined && deadline <= now) return true;
  if (
    tables.deployments
      .by("status", "running")
      .some((d) => Object.values(d.TaskGroups ?? {}).some((s) => s.ProgressDeadline === 0 && s.UnhealthyAllocs > 0))
  )
    return true;
  return dueLaunches(tables).some(({ atMs }) => atMs <= now);
}

function nextDueMs(tables: Tables, now: number): number | undefined {
  const times = tables.evals
    .by("status", "pending")
    .flatMap((evaluation) => (evaluation.WaitUntil === null ? [] : [Date.parse(evaluation.WaitUntil)]));
  const deadline = nextProgressDeadlineMs(tables);
  if (deadline !== undefined) times.push(deadline);
  for (const { atMs } of dueLaunches(tables)) times.push(atMs);
  return times.length === 0
    ? undefined
    : Math.max(
        now,
        times.reduce((a, b) => Math.min(a, b)),
      );
}
