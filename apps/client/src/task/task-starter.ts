import type { Logger } from "@outrider/foundation";
import { TASK_EVENT } from "@outrider/nomad-structs";
import { isPluginShutdown, type DriverPlugin, type StartedTask, type TaskConfig } from "@outrider/plugin-driver";
import type { DriverInstance, DriverManager } from "../driver/driver-manager.ts";
import { DriverTask, type DriverTaskOptions } from "./driver/driver-task.ts";
import { livingDriver } from "./driver/living-driver.ts";
import { loadHandle, storeHandle, storeStarting } from "./driver/stored-handle.ts";
import { settledBefore } from "./kill-signals.ts";
import { messageOf } from "./task-hook-failure.ts";
import type { TaskRecord } from "./task-record.ts";

/** How many deaths of its driver one start goes through; a task that kills its driver must not do so for ever. */
const START_ATTEMPTS = 8;

export interface TaskStarterOptions {
  readonly driver: string;
  readonly drivers: Pick<DriverManager, "dispense">;
  readonly record: TaskRecord;
  readonly logger: Logger;
  readonly clock: DriverTaskOptions["clock"];
  /** Aborted when the agent lets go of the task. */
  readonly signal: AbortSignal;
}

/** Starts tasks by their driver so that a crash at any moment leaves none doubled and none lost, and finds them again. */
export class TaskStarter {
  readonly #o: TaskStarterOptions;

  constructor(options: TaskStarterOptions) {
    this.#o = options;
  }

  /** Rejects with the driver's failure after adding `Driver Failure`; `recoverable` is the driver's. `cancel` counts until the driver is asked. */
  async start(config: TaskConfig, cancel: AbortSignal): Promise<DriverTask> {
    const { record, signal } = this.#o;
    // From here on a crash leaves a trace of the id, by which the task is found or known never to have been.
    record.setLocal({ starting: storeStarting(config) });
    if (!(await settledBefore(record.flush(), cancel))) {
      // A disk that takes no writes must not hold up a stop.
      record.setLocal({ starting: undefined });
      throw cancel.reason;
    }
    try {
      const { instance, started } = await this.#startOnce(config);
      record.setLocal({ handle: storeHandle(started.handle), network: started.network, starting: undefined });
      record.enter("running", { type: TASK_EVENT.started });
      return this.#adopt(instance, started.handle);
    } catch (cause) {
      signal.throwIfAborted();
      record.setLocal({ starting: undefined });
      record.append({ type: TASK_EVENT.driverFailure, facts: { error: messageOf(cause) } });
      throw cause;
    }
  }

  /** The task that a former process started, when its driver still knows it. */
  async recover(): Promise<DriverTask | undefined> {
    const { record, logger, signal, clock, driver, drivers } = this.#o;
    const { handle: known, starting } = record.local;
    const stored = known ?? starting;
    if (stored === undefined) return undefined;
    const handle = loadHandle(stored);
    let instance: DriverInstance;
    for (let newerThan = 0; ; newerThan = instance.generation) {
      instance = await livingDriver(drivers, driver, { signal, clock, newerThan });
      try {
        // An id that was never answered may be unknown to the driver, which is fine: nothing was started.
        if (known === undefined) await instance.plugin.inspectTask(handle.config.id, signal);
        await instance.plugin.recoverTask(handle, signal);
        break;
      } catch (err) {
        signal.throwIfAborted();
        if (isPluginShutdown(err)) continue;
        if (known === undefined) logger.debug({ err }, "the driver knows nothing of a start that was not answered");
        else logger.warn({ err }, "task cannot be recovered");
        if (!(await this.#sweep(instance.plugin, handle.config.id))) continue;
        record.setLocal({ handle: undefined, network: undefined, starting: undefined });
        return undefined;
      }
    }
    if (known === undefined) {
      record.setLocal({ handle: { ...stored, state: "running" }, starting: undefined });
      record.enter("running", { type: TASK_EVENT.started });
    }
    return this.#adopt(instance, handle);
  }

  /** Frees what the driver still keeps of an end that a former process had dealt with. */
  async forgetEnded(): Promise<void> {
    const { record, driver, drivers, signal, clock } = this.#o;
    const { ended } = record.local;
    if (ended === undefined) return;
    for (let newerThan = 0; ;) {
      const { plugin, generation } = await livingDriver(drivers, driver, { signal, clock, newerThan });
      if (await this.#sweep(plugin, ended)) break;
      newerThan = generation;
    }
    // What could not be asked for before the agent ends is asked for by the next one.
    signal.throwIfAborted();
    record.forgetEnded();
  }

  /** The same id with every driver that comes and goes: one that had started it gives that task. */
  async #startOnce(config: TaskConfig): Promise<{ instance: DriverInstance; started: StartedTask }> {
    const { driver, drivers, clock, signal } = this.#o;
    for (let deaths = 0, newerThan = 0; ; deaths++) {
      const instance = await livingDriver(drivers, driver, { signal, clock, newerThan, attempts: START_ATTEMPTS });
      try {
        return { instance, started: await instance.plugin.startTask(config, signal) };
      } catch (cause) {
        signal.throwIfAborted();
        if (!isPluginShutdown(cause)) {
          await this.#sweep(instance.plugin, config.id);
          throw cause;
        }
        if (deaths + 1 >= START_ATTEMPTS) throw cause;
        newerThan = instance.generation;
      }
    }
  }

  /** Nothing of a failed start or recovery may be left running. False when the driver is gone, and its successor has to be asked. */
  async #sweep(plugin: DriverPlugin, id: string): Promise<boolean> {
    try {
      await plugin.destroyTask(id, true, this.#o.signal);
    } catch (err) {
      if (isPluginShutdown(err)) return false;
      this.#o.logger.debug({ err }, "nothing to destroy");
    }
    return true;
  }

  #adopt(instance: DriverInstance, handle: DriverTask["handle"]): DriverTask {
    const { drivers, clock, logger, signal } = this.#o;
    return new DriverTask({ drivers, instance, handle, clock, logger, signal });
  }
}
