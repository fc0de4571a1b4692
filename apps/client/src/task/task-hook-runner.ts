import type { HookEnv, HookObserver, TaskEventInput, TaskHook, TaskPoststartRequest } from "@outrider/alloc-runner";
import type { TaskDir } from "@outrider/allocdir-interface";
import { type Logger, OutriderError } from "@outrider/foundation";
import { TASK_EVENT, type Allocation, type DriverDevice, type DriverMount, type Task } from "@outrider/nomad-structs";
import { carriedEvent, isRecoverable, messageOf } from "./task-hook-failure.ts";
import type { HookRecord } from "./task-local-state.ts";
import type { TaskRecord } from "./task-record.ts";

export interface TaskHookRunnerOptions {
  readonly hooks: readonly TaskHook<TaskDir>[];
  readonly record: TaskRecord;
  readonly logger: Logger;
  readonly taskDir: TaskDir;
  readonly alloc: () => Allocation;
  readonly task: () => Task;
  readonly env: () => HookEnv;
  /** Makes a hook's variables part of the task's environment. */
  readonly setHookEnv: (hook: string, env: Readonly<Record<string, string>>) => void;
  readonly telemetry?: HookObserver | undefined;
}

/** Calls the hooks of one task in order, with the rules of client-runtime.md 4.2. */
export class TaskHookRunner {
  readonly #o: TaskHookRunnerOptions;
  #mounts: readonly DriverMount[] = [];
  #devices: readonly DriverDevice[] = [];
  #pendingUpdate: Allocation | undefined;
  #updating = false;

  constructor(options: TaskHookRunnerOptions) {
    this.#o = options;
  }

  get mounts(): readonly DriverMount[] {
    return this.#mounts;
  }

  get devices(): readonly DriverDevice[] {
    return this.#devices;
  }

  /** Puts the kept results of the hooks in force again, after a restart of the agent. */
  restore(): void {
    for (const hook of this.#o.hooks) {
      const kept = this.#o.record.local.hooks[hook.name];
      if (kept !== undefined) this.#apply(hook.name, kept);
    }
  }

  /** Rejects with `prestart hook "<name>" failed: …`, keeping `recoverable`; an abort comes through as it is. */
  async prestart(signal: AbortSignal): Promise<void> {
    this.#mounts = [];
    this.#devices = [];
    for (const hook of this.#o.hooks) {
      if (hook.prestart === undefined) continue;
      signal.throwIfAborted();
      const kept = this.#o.record.local.hooks[hook.name];
      if (kept?.done === true) this.#apply(hook.name, kept);
      else await this.#prestartOne(hook, kept, signal);
    }
  }

  async #prestartOne(hook: TaskHook<TaskDir>, kept: HookRecord | undefined, signal: AbortSignal): Promise<void> {
    const { record, taskDir } = this.#o;
    const request = {
      alloc: this.#o.alloc(),
      task: this.#o.task(),
      taskDir,
      env: this.#o.env(),
      previousState: kept?.state ?? {},
      mounts: this.#mounts,
      devices: this.#devices,
      emit: record.append.bind(record),
    };
    try {
      const result = (await this.#timed(hook, "prestart", () => hook.prestart?.(request, signal))) ?? {};
      const next: HookRecord = {
        done: result.done ?? false,
        state: result.state ?? kept?.state ?? {},
        env: result.env ?? {},
        ...(result.mounts === undefined ? {} : { mounts: result.mounts }),
        ...(result.devices === undefined ? {} : { devices: result.devices }),
      };
      this.#apply(hook.name, next);
      if (JSON.stringify(next) !== JSON.stringify(kept ?? EMPTY)) {
        // Durable at the latest with the start of the task, which waits for it.
        record.noteLocal({ hooks: { ...record.local.hooks, [hook.name]: next } });
      }
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      record.append(carriedEvent(cause) ?? hookFailed(hook.name, cause));
      const text = `prestart hook ${JSON.stringify(hook.name)} failed: ${messageOf(cause)}`;
      throw new OutriderError("ERR_OUTRIDER_TASK_HOOK", text, { cause, recoverable: isRecoverable(cause) });
    }
  }

  #apply(hook: string, kept: HookRecord): void {
    this.#o.setHookEnv(hook, kept.env);
    if (kept.mounts !== undefined) this.#mounts = kept.mounts;
    if (kept.devices !== undefined) this.#devices = kept.devices;
  }

  /** Failures become events; never rejects. */
  async poststart(request: TaskPoststartRequest): Promise<void> {
    await this.#all("poststart", true, (hook) => hook.poststart?.(request));
  }

  async exited(): Promise<void> {
    await this.#all("exited", true, (hook) => hook.exited?.());
  }

  async preKilling(): Promise<void> {
    await this.#all("prekilling", false, (hook) => hook.preKilling?.());
  }

  async stop(): Promise<void> {
    const { record, taskDir } = this.#o;
    await this.#all("stop", true, (hook) =>
      hook.stop?.({ previousState: record.local.hooks[hook.name]?.state ?? {}, taskDir }),
    );
  }

  async shutdown(): Promise<void> {
    await this.#all("task_shutdown", false, (hook) => hook.shutdown?.());
  }

  /** Tells the hooks of a new version; while they work only the newest one waits. */
  update(alloc: Allocation): void {
    this.#pendingUpdate = alloc;
    if (this.#updating) return;
    this.#updating = true;
    void this.#updateAll();
  }

  async #updateAll(): Promise<void> {
    for (;;) {
      const alloc = this.#pendingUpdate;
      this.#pendingUpdate = undefined;
      if (alloc === undefined) {
        this.#updating = false;
        return;
      }
      await this.#all("task_update", true, (hook) => hook.update?.({ alloc, env: this.#o.env() }));
    }
  }

  async #all(kind: Kind, tell: boolean, call: (hook: TaskHook<TaskDir>) => unknown): Promise<void> {
    for (const hook of this.#o.hooks) {
      if (hook[METHODS[kind]] === undefined) continue;
      try {
        await this.#timed(hook, kind, () => call(hook));
      } catch (err) {
        this.#o.logger.error({ err, hook: hook.name, kind }, "task hook failed");
        if (tell) this.#o.record.append(hookFailed(hook.name, err));
      }
    }
  }

  #timed<T>(hook: TaskHook<TaskDir>, kind: Kind, fn: () => T): T {
    const { telemetry } = this.#o;
    return telemetry === undefined ? fn() : telemetry.time(hook.name, kind, fn);
  }
}

const EMPTY: HookRecord = { done: false, state: {}, env: {} };

/** Telemetry's name of each kind, and the method of a hook. */
const METHODS = {
  prestart: "prestart",
  poststart: "poststart",
  exited: "exited",
  prekilling: "preKilling",
  stop: "stop",
  task_update: "update",
  task_shutdown: "shutdown",
} as const;

type Kind = keyof typeof METHODS;

function hookFailed(hook: string, error: unknown): TaskEventInput {
  return { type: TASK_EVENT.hookFailed, facts: { message: `${hook}: ${messageOf(error)}` } };
}
