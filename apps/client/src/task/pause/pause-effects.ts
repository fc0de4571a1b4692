import { TASK_EVENT } from "@outrider/nomad-structs";
import type { TaskContext } from "../task-context.ts";
import { stopForRestart } from "../task-stopper.ts";
import type { PauseStep } from "./pause-transition.ts";

/** What a pause does to its task. */
export class PauseEffects {
  readonly #context: () => TaskContext;
  #stopping = false;

  constructor(context: () => TaskContext) {
    this.#context = context;
  }

  record(step: PauseStep): void {
    const { event } = step;
    const type = event?.kind === "pausing" ? TASK_EVENT.pausing : TASK_EVENT.running;
    this.#context().record.setPaused(
      step.to,
      event === undefined ? undefined : { type, facts: { cause: event.cause } },
    );
  }

  /** Stops the task, which then waits for the end of the pause; does nothing to one that is being stopped already. */
  stop(): void {
    const c = this.#context();
    const { live } = c;
    if (live === undefined || live.result !== undefined || this.#stopping || c.signals.kill.aborted) return;
    this.#stopping = true;
    c.tracker.setRestartTriggered(false);
    const delay = c.config.honorShutdownDelayOnPause ?? false;
    void stopForRestart(c, live, { delay })
      .catch(() => undefined)
      .finally(() => {
        this.#stopping = false;
      });
  }
}
