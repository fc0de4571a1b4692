import type { TaskState } from "@outrider/nomad-structs";
import { settledBefore } from "../task/kill-signals.ts";

/** When in an allocation's life a task runs. */
export type Stage = "prestart" | "prestart-sidecar" | "main" | "poststart" | "poststart-sidecar" | "poststop";

/** What the coordinator is at. */
export type CoordinatorState = "init" | "prestart" | "main" | "poststart" | "wait_alloc" | "poststop";

/** The gates that each state holds open. */
const OPEN: Readonly<Record<CoordinatorState, readonly Stage[]>> = {
  init: [],
  prestart: ["prestart", "prestart-sidecar"],
  main: ["prestart-sidecar", "main"],
  poststart: ["prestart-sidecar", "main", "poststart", "poststart-sidecar"],
  wait_alloc: ["prestart-sidecar", "main", "poststart-sidecar"],
  poststop: ["poststop"],
};

type States = ReadonlyMap<string, Pick<TaskState, "State" | "Failed">>;

/** The stage of a task by its lifecycle block. */
export function stageOf(lifecycle: { readonly hook: string; readonly sidecar: boolean } | undefined): Stage {
  switch (lifecycle?.hook) {
    case "prestart":
      return lifecycle.sidecar ? "prestart-sidecar" : "prestart";
    case "poststart":
      return lifecycle.sidecar ? "poststart-sidecar" : "poststart";
    case "poststop":
      return "poststop";
    default:
      return "main";
  }
}

/** Lets the tasks of one allocation start in the order of their lifecycles (client-runtime.md 3.5). */
export class Coordinator {
  #stages: ReadonlyMap<string, Stage>;
  readonly #waiting = new Set<() => void>();
  #state: CoordinatorState = "init";

  constructor(stages: ReadonlyMap<string, Stage>) {
    this.#stages = stages;
  }

  /** A new version of the job may have made a sidecar of a task, or no longer (hashicorp/nomad#9542). */
  setStages(stages: ReadonlyMap<string, Stage>): void {
    this.#stages = stages;
    this.#wakeAll();
  }

  get state(): CoordinatorState {
    return this.#state;
  }

  isOpen(task: string): boolean {
    return OPEN[this.#state].includes(this.#stages.get(task) as Stage);
  }

  /** Waits until the task's gate is open; any number of starts pass while it is. Rejects with the signal's reason. */
  async wait(task: string, signal: AbortSignal): Promise<void> {
    while (!this.isOpen(task)) {
      let resolve: () => void = () => undefined;
      const moved = new Promise<void>((r) => {
        resolve = r;
      });
      this.#waiting.add(resolve);
      const settled = await settledBefore(moved, signal);
      this.#waiting.delete(resolve);
      if (!settled) throw signal.reason;
    }
  }

  /** All tasks start anew: gates close until every task is pending. */
  restart(): void {
    this.#move("init");
  }

  /** After a restart of the agent nothing may wait for running tasks to become pending. */
  restore(states: States): void {
    this.#move("prestart");
    this.update(states);
  }

  /** Takes the newest task states; moves on until it settles. */
  update(states: States): void {
    for (;;) {
      const next = this.#next(states);
      if (next === this.#state) return;
      this.#move(next);
    }
  }

  #next(states: States): CoordinatorState {
    const all = (stages: readonly Stage[], test: (s: Pick<TaskState, "State" | "Failed">) => boolean): boolean => {
      for (const [task, stage] of this.#stages) {
        const state = states.get(task);
        if (stages.includes(stage) && (state === undefined || !test(state))) return false;
      }
      return true;
    };
    const dead = (s: { State: string }): boolean => s.State === "dead";
    const beforePoststop: readonly Stage[] = ["prestart", "prestart-sidecar", "main", "poststart", "poststart-sidecar"];
    if (this.#state === "poststop" || all(beforePoststop, dead)) return "poststop";
    switch (this.#state) {
      case "init":
        return all([...beforePoststop, "poststop"], (s) => s.State === "pending") ? "prestart" : "init";
      case "prestart": {
        const ran = all(["prestart"], (s) => dead(s) && !s.Failed);
        return ran && all(["prestart-sidecar"], (s) => s.State === "running") ? "main" : "prestart";
      }
      case "main":
        return all(["main"], (s) => s.State !== "pending") ? "poststart" : "main";
      case "poststart":
        return all(["poststart"], dead) ? "wait_alloc" : "poststart";
      case "wait_alloc":
        return "wait_alloc";
    }
  }

  #move(state: CoordinatorState): void {
    this.#state = state;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }
}
