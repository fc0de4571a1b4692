import { type Clock, sleep } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import {
  isPluginShutdown,
  isTaskNotFound,
  type DriverPlugin,
  type ExitResult,
  type TaskHandle,
} from "@outrider/plugin-driver";
import type { DriverInstance, DriverManager } from "../../driver/driver-manager.ts";
import { messageOf } from "../task-hook-failure.ts";
import { livingDriver } from "./living-driver.ts";

/** Waits before a failed stop is tried again. */
const STOP_RETRY_MS = [5_000, 20_000, 80_000, 120_000, 120_000] as const;

export interface DriverTaskOptions {
  readonly drivers: Pick<DriverManager, "dispense">;
  readonly instance: DriverInstance;
  readonly handle: TaskHandle;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted when the agent lets go of the task. */
  readonly signal: AbortSignal;
}

/**
 * A started task. Outlives its driver's process: when that is gone the next instance takes the task over by its handle, and the wait for
 * the exit goes on there.
 */
export class DriverTask {
  readonly handle: TaskHandle;
  /** The end of the task; one wait for everybody, asked for before any stop. Rejects only with the signal's reason. */
  readonly exit: Promise<ExitResult>;
  readonly #o: DriverTaskOptions;
  #instance: DriverInstance;
  #result: ExitResult | undefined;
  #moving: Promise<void> | undefined;

  constructor(options: DriverTaskOptions) {
    this.#o = options;
    this.handle = options.handle;
    this.#instance = options.instance;
    this.exit = this.#waitExit();
    this.exit.catch(() => undefined);
  }

  get id(): string {
    return this.handle.config.id;
  }

  /** Undefined while it runs. */
  get result(): ExitResult | undefined {
    return this.#result;
  }

  get plugin(): DriverPlugin {
    return this.#instance.plugin;
  }

  /**
   * Stops the task: signal, `timeoutMs`, force. Resolves when the driver says so or the task has ended; gives the last error after five
   * more tries. Never rejects except with the signal's reason.
   */
  async stop(timeoutMs: number, signalName: string): Promise<Error | undefined> {
    for (let tries = 0; ; tries++) {
      if (this.#result !== undefined) return undefined;
      const { instance, error } = await this.#try((plugin) =>
        plugin.stopTask(this.id, timeoutMs, signalName, this.#o.signal),
      );
      if (error === undefined || isTaskNotFound(error)) return undefined;
      this.#o.signal.throwIfAborted();
      const level = isPluginShutdown(error) ? "debug" : "error";
      this.#o.logger[level]({ err: error, attempt: tries + 1 }, "task cannot be stopped");
      const wait = STOP_RETRY_MS[tries];
      if (wait === undefined) return error;
      await this.#pause(wait, isPluginShutdown(error) ? instance : undefined);
    }
  }

  async sendSignal(name: string): Promise<void> {
    const { error } = await this.#try((plugin) => plugin.signalTask(this.id, name, this.#o.signal));
    if (error !== undefined) throw error;
  }

  /** Makes the driver forget the ended task; the next instance when this one is gone, since nobody else would. Failures are logged only. */
  async destroy(): Promise<void> {
    const { drivers, signal, clock, logger } = this.#o;
    for (;;) {
      const { instance, error } = await this.#try((plugin) => plugin.destroyTask(this.id, true, signal));
      if (error === undefined || isTaskNotFound(error) || signal.aborted) return;
      if (!isPluginShutdown(error)) return logger.warn({ err: error }, "ended task cannot be destroyed");
      try {
        this.#instance = await livingDriver(drivers, instance.name, { signal, clock, newerThan: instance.generation });
      } catch (err) {
        if (!signal.aborted) logger.warn({ err }, "ended task was lost with its driver");
        return;
      }
    }
  }

  async #waitExit(): Promise<ExitResult> {
    const { signal, logger } = this.#o;
    for (;;) {
      const { instance, value, error } = await this.#try((plugin) => plugin.waitTask(this.id, signal));
      signal.throwIfAborted();
      if (value !== undefined) {
        this.#result = value;
        return value;
      }
      if (!isPluginShutdown(error)) return this.#lost(messageOf(error));
      try {
        await this.#moveOn(instance);
      } catch (err) {
        signal.throwIfAborted();
        logger.warn({ err }, "task was lost with its driver");
        return this.#lost(messageOf(err));
      }
    }
  }

  #lost(why: string): ExitResult {
    this.#result = { exitCode: -1, signal: 0, oomKilled: false, error: why };
    return this.#result;
  }

  /** Takes the task over to an instance newer than `stale`. Shared by all who find the old one gone. */
  #moveOn(stale: DriverInstance): Promise<void> {
    if (this.#instance.generation > stale.generation) return Promise.resolve();
    this.#moving ??= this.#recover(stale).finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  async #recover(stale: DriverInstance): Promise<void> {
    const { drivers, signal, clock, logger } = this.#o;
    let newerThan = stale.generation;
    for (;;) {
      const next = await livingDriver(drivers, stale.name, { signal, clock, newerThan });
      try {
        await next.plugin.recoverTask(this.handle, signal);
        this.#instance = next;
        return;
      } catch (cause) {
        signal.throwIfAborted();
        newerThan = next.generation;
        if (isPluginShutdown(cause)) continue;
        // A half-known process must not live on beside its successor.
        await next.plugin
          .destroyTask(this.id, true, signal)
          .catch((err: unknown) => logger.debug({ err }, "nothing to destroy"));
        throw cause;
      }
    }
  }

  /** Until the time is up, the task has ended, or a new instance has it. */
  async #pause(ms: number, gone: DriverInstance | undefined): Promise<void> {
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, this.#o.signal]);
    const timer = sleep(ms, { clock: this.#o.clock, signal }).catch(() => undefined);
    try {
      const waits: Promise<unknown>[] = [timer, this.exit.catch(() => undefined)];
      if (gone !== undefined) waits.push(this.#moveOn(gone).catch(() => timer));
      await Promise.race(waits);
    } finally {
      cancel.abort();
    }
    this.#o.signal.throwIfAborted();
  }

  async #try<T>(
    call: (plugin: DriverPlugin) => Promise<T>,
  ): Promise<{ instance: DriverInstance; value?: T; error?: Error }> {
    const instance = this.#instance;
    try {
      return { instance, value: await call(instance.plugin) };
    } catch (reason) {
      return { instance, error: reason instanceof Error ? reason : new Error(String(reason)) };
    }
  }
}
