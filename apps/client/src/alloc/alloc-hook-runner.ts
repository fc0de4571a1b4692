import type { AllocHook, HookEnv, HookObserver } from "@outrider/alloc-runner";
import { OutriderError, type Logger } from "@outrider/foundation";
import type { Allocation } from "@outrider/nomad-structs";
import { messageOf } from "../task/task-hook-failure.ts";

export interface AllocHookRunnerOptions {
  readonly hooks: readonly AllocHook[];
  readonly logger: Logger;
  /** A fresh one for each call. */
  readonly env: () => HookEnv;
  readonly telemetry?: HookObserver | undefined;
}

/** Calls the hooks of one allocation in order, with the rules of client-runtime.md 3.1. */
export class AllocHookRunner {
  readonly #o: AllocHookRunnerOptions;

  constructor(options: AllocHookRunnerOptions) {
    this.#o = options;
  }

  /** The first failure ends the list: rejects with `pre-run hook "<name>" failed: …`. An abort comes through as it is. */
  async prerun(signal: AbortSignal): Promise<void> {
    for (const hook of this.#o.hooks) {
      if (hook.prerun === undefined) continue;
      signal.throwIfAborted();
      try {
        await this.#timed(hook, "prerun", () => hook.prerun?.(this.#o.env(), signal));
      } catch (cause) {
        if (signal.aborted) throw signal.reason;
        const text = `pre-run hook ${JSON.stringify(hook.name)} failed: ${messageOf(cause)}`;
        throw new OutriderError("ERR_OUTRIDER_ALLOC_HOOK", text, { cause });
      }
    }
  }

  async update(alloc: Allocation): Promise<void> {
    await this.#all("alloc_update", (hook) => hook.update?.({ alloc, env: this.#o.env() }));
  }

  async preKill(): Promise<void> {
    await this.#all("prekill", (hook) => hook.preKill?.());
  }

  async preTaskRestart(): Promise<void> {
    await this.#all("pretaskrestart", (hook) => hook.preTaskRestart?.());
  }

  async postrun(): Promise<void> {
    await this.#all("postrun", (hook) => hook.postrun?.());
  }

  async destroy(): Promise<void> {
    await this.#all("destroy", (hook) => hook.destroy?.());
  }

  async shutdown(): Promise<void> {
    await this.#all("alloc_shutdown", (hook) => hook.shutdown?.());
  }

  /** Every hook is tried; failures are logged. */
  async #all(kind: Kind, call: (hook: AllocHook) => unknown): Promise<void> {
    for (const hook of this.#o.hooks) {
      if (hook[METHODS[kind]] === undefined) continue;
      try {
        await this.#timed(hook, kind, () => call(hook));
      } catch (err) {
        this.#o.logger.error({ err, hook: hook.name, kind }, "alloc hook failed");
      }
    }
  }

  #timed<T>(hook: AllocHook, kind: Kind | "prerun", fn: () => T): T {
    const { telemetry } = this.#o;
    return telemetry === undefined ? fn() : telemetry.time(hook.name, kind, fn);
  }
}

/** Telemetry's name of each kind, and the method of a hook. */
const METHODS = {
  alloc_update: "update",
  prekill: "preKill",
  pretaskrestart: "preTaskRestart",
  postrun: "postrun",
  destroy: "destroy",
  alloc_shutdown: "shutdown",
} as const;

type Kind = keyof typeof METHODS;
