import {
  isPauseRequest,
  type AllocStatsReporter,
  type DriverEventHandler,
  type PauseRequest,
  type TaskEventInput,
  type TaskExecHandler,
} from "@outrider/alloc-runner";
import { OutriderError } from "@outrider/foundation";
import {
  TASK_EVENT,
  type DriverCapabilities,
  type TaskPauseState,
  type TaskResourceUsage,
} from "@outrider/nomad-structs";
import { execHandler } from "../task/task-life.ts";
import type { TaskRunner } from "../task/task-runner.ts";
import { sumUsage } from "./alloc-stats.ts";

/** A task with what the allocation needs beside its runner. */
export interface RunnerTask {
  readonly runner: TaskRunner;
  readonly latestStats: () => TaskResourceUsage | undefined;
}

/** What may be asked of the tasks of one allocation from outside. */
export class AllocRequests {
  readonly #tasks: readonly RunnerTask[];

  constructor(tasks: readonly RunnerTask[]) {
    this.#tasks = tasks;
  }

  get #runners(): readonly TaskRunner[] {
    return this.#tasks.map((t) => t.runner);
  }

  find(task: string): TaskRunner {
    return this.#find(task, `Could not find task runner for task: ${task}`);
  }

  #find(task: string, text: string): TaskRunner {
    const runner = this.#runners.find((r) => r.name === task);
    if (runner !== undefined) return runner;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_UNKNOWN_TASK", text, { details: { task } });
  }

  async signal(task: string, signal: string): Promise<void> {
    if (task !== "") return this.#find(task, "Task not found").signal(signal);
    await all(this.#runners.map((runner) => runner.signal(signal)));
  }

  async restartRunning(event: TaskEventInput): Promise<void> {
    const running = this.#runners.filter((r) => r.record.phase === "running");
    await all(running.map((runner) => runner.restart(event).catch(ignoreNotRunning)));
  }

  async restartAll(event: TaskEventInput): Promise<void> {
    await all(this.#runners.map((runner) => runner.forceRestart(event).catch(ignoreNotRunning)));
  }

  eventHandler(task: string): DriverEventHandler | undefined {
    const record = this.#runners.find((r) => r.name === task)?.record;
    if (record === undefined) return undefined;
    return ({ message, annotations }) => record.append({ type: TASK_EVENT.driver, facts: { message, annotations } });
  }

  execHandler(task: string): TaskExecHandler | undefined {
    const live = this.#runners.find((r) => r.name === task)?.context.live;
    return live === undefined || live.result !== undefined ? undefined : execHandler(live);
  }

  async capabilities(task: string): Promise<DriverCapabilities> {
    const { driver } = this.#find(task, "task not found").context;
    if (driver !== undefined) return driver.capabilities;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_DRIVER", "the task's driver has not come up yet", {
      recoverable: true,
      details: { task },
    });
  }

  stats(): AllocStatsReporter {
    return {
      latestAllocStats: (task = "") => {
        const chosen = this.#tasks.filter((t) => task === "" || t.runner.name === task);
        const samples = chosen.flatMap(({ runner, latestStats }) => {
          const usage = latestStats();
          return usage === undefined ? [] : [{ task: runner.name, running: runner.record.phase === "running", usage }];
        });
        return sumUsage(samples);
      },
    };
  }

  async setPause(task: string, state: PauseRequest): Promise<void> {
    if (!isPauseRequest(state)) {
      const text = "not a valid task schedule state";
      throw new OutriderError("ERR_OUTRIDER_TASK_PAUSE_STATE", text, { details: { state } });
    }
    if (task !== "") return this.find(task).setPause(state);
    for (const runner of this.#mains()) runner.setPause(state);
  }

  getPause(task: string): TaskPauseState {
    if (task !== "") return this.find(task).context.pause.state;
    const states = this.#mains().map((r) => ({ name: r.name, state: r.context.pause.state }));
    const first = states[0]?.state ?? "";
    if (states.every((s) => s.state === first)) return first;
    const list = states.map((s) => `${s.name}: ${JSON.stringify(s.state)}`).join(", ");
    throw new OutriderError("ERR_OUTRIDER_TASK_PAUSE_DIFFERS", `tasks differ in their pause state, name one: ${list}`);
  }

  #mains(): readonly TaskRunner[] {
    return this.#runners.filter((runner) => runner.lifecycle === undefined);
  }
}

/** Waits for all, then rejects with the first failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((r) => r.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function ignoreNotRunning(error: unknown): void {
  if ((error as { code?: unknown } | null)?.code !== "ERR_OUTRIDER_TASK_NOT_RUNNING") throw error;
}
