/** One task: while its window is open a task of the wrapped driver, otherwise nothing but a wait. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBackoff, sleep, waitUntil, type Clock } from "@outrider/backoff";
import type { Schedule } from "@outrider/cron-schedule";
import {
  type ExecInput,
  type ExecOutput,
  type ExecRequest,
  type ExecResult,
  type ExitResult,
  isPluginShutdown,
  isTaskNotFound,
  RecoverableError,
  type RunningTask,
  type TaskConfig,
  type TaskHandle,
  type TaskResourceUsage,
} from "@outrider/plugin-driver";
import { encodeConfig, type ProcessIdentity, signalProcess } from "@outrider/plugin-driver/host";
import type { Kept } from "./create-driver.ts";
import type { EventFeed } from "./event-feed.ts";
import type { InnerDriver, InnerDrivers } from "./inner-drivers.ts";
import { keepOutputOpen } from "./keep-output-open.ts";

/** What is written down before and after each start of the wrapped driver's task. */
interface Saved {
  readonly round: number;
  /** Absent while that start is under way. */
  readonly handle?: Omit<TaskHandle, "driverState" | "config"> & { readonly driverState: string };
}

interface WindowedTaskOptions {
  readonly task: TaskConfig;
  readonly settings: Kept["settings"];
  readonly schedule: Schedule;
  readonly inner: Pick<InnerDrivers, "get">;
  readonly events: EventFeed;
  readonly clock: Clock;
  /** Where a task from before a restart has left its notes. */
  readonly file?: string;
}

const STOPPED: ExitResult = { exitCode: 0, signal: 0, oomKilled: false };
const failed = (reason: unknown): ExitResult => ({
  exitCode: -1,
  signal: 0,
  oomKilled: false,
  error: reason instanceof Error ? reason.message : String(reason),
});
const isLasting = (reason: unknown): boolean => (reason as { recoverable?: boolean } | null)?.recoverable !== true;

/** A task of this driver. */
export class WindowedTask implements RunningTask<Kept> {
  readonly state: Kept;
  pid?: number;
  readonly #o: WindowedTaskOptions;
  readonly #stop = new AbortController();
  #round = 0;
  /** The wrapped driver's task, when there is one. */
  #handle: TaskHandle | undefined;
  #keeper: ProcessIdentity | undefined;
  #changed: () => void = () => undefined;

  constructor(o: WindowedTaskOptions) {
    this.#o = o;
    const { task, settings } = o;
    const file = o.file ?? join(task.allocDir, task.name, `.windowed-${task.id.split("/").at(-1)}.json`);
    this.state = { settings, file };
  }

  /** Checks everything at once, so that a bad job fails now and not when its window opens. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#innerConfig(await this.#driver());
    this.#keeper = await keepOutputOpen(this.#o.task);
    if (this.#keeper !== undefined) this.pid = this.#keeper.pid;
    try {
      if (this.#o.schedule.evaluate(this.#o.clock.now()).inWindow) await this.#startInner(signal);
    } catch (reason) {
      this.#release();
      // A start that was called off may have come through all the same.
      if (signal.aborted) await this.#forgetInner().catch(() => undefined);
      throw reason;
    }
  }

  /** After a restart of this plugin. */
  async recover(keeper: ProcessIdentity | undefined): Promise<void> {
    this.#keeper = keeper;
    if (keeper !== undefined) this.pid = keeper.pid;
    const { round, handle } = this.#read();
    this.#round = round;
    if (round === 0) return;
    const driver = await this.#driver();
    if (handle === undefined) {
      // A start was under way; whatever came of it ends here, so that no second copy runs.
      await driver.destroyTask(this.#innerId, true).catch(() => undefined);
      return;
    }
    this.#handle = {
      ...handle,
      config: await this.#innerConfig(driver),
      driverState: Buffer.from(handle.driverState, "base64"),
    };
    try {
      await driver.recoverTask(this.#handle);
    } catch (reason) {
      await driver.destroyTask(this.#innerId, true).catch(() => undefined);
      throw reason;
    }
  }

  async wait(signal: AbortSignal): Promise<ExitResult> {
    const over = AbortSignal.any([signal, this.#stop.signal]);
    try {
      return await this.#run(over);
    } catch (reason) {
      return failed(reason);
    } finally {
      this.#release();
    }
  }

  async #run(over: AbortSignal): Promise<ExitResult> {
    const { schedule, clock, settings } = this.#o;
    const again = createBackoff({ base: 1_000, limit: 60_000 });
    for (;;) {
      const { inWindow, nextStart, nextEnd } = schedule.evaluate(clock.now());
      if (this.#handle !== undefined) {
        // Asked to stop while it was being started.
        if (over.aborted) await this.#call((driver, id) => driver.stopTask(id, settings.stop_timeout * 1_000, ""));
        const result = await this.#untilEnd(inWindow ? nextEnd : new Date(clock.now()));
        if (result !== undefined) return result;
        this.#say("Window closed: the task was stopped");
      } else if (over.aborted) {
        return STOPPED;
      } else if (inWindow) {
        try {
          await this.#startInner();
          again.reset();
        } catch (reason) {
          if (isLasting(reason)) throw reason;
          this.#say(`Start failed: ${failed(reason).error ?? ""}`);
          await sleep(again.next(), { clock, signal: over }).catch(() => undefined);
        }
      } else if (nextStart === null) {
        this.#say("The window does not open any more");
        return STOPPED;
      } else {
        this.#say(`Waiting for the window, which opens ${nextStart.toISOString()}`);
        await waitUntil(nextStart.getTime(), { clock, signal: over, ref: false }).catch(() => undefined);
      }
    }
  }

  /** The result of the wrapped task, or undefined when the window has ended first and the task with it. */
  async #untilEnd(end: Date | null): Promise<ExitResult | undefined> {
    const { clock, settings } = this.#o;
    const done = new AbortController();
    const closed =
      end === null
        ? new Promise<never>(() => undefined)
        : waitUntil(end.getTime(), { clock, signal: done.signal, ref: false });
    const outcome = await Promise.race([
      this.#innerResult(done.signal),
      closed.then(
        () => undefined,
        () => undefined,
      ),
    ]);
    done.abort();
    if (outcome !== undefined || this.#stop.signal.aborted || (await this.#hasEnded())) {
      return outcome ?? this.#innerResult();
    }
    await this.#call((driver, id) => driver.stopTask(id, settings.stop_timeout * 1_000, ""));
    await this.#forgetInner();
    return undefined;
  }

  /** Whether the wrapped task has ended by itself in the moment in which its window closes. */
  async #hasEnded(): Promise<boolean> {
    try {
      return (await this.#call((driver, id) => driver.inspectTask(id))).status.state === "exited";
    } catch {
      return false; // a driver need not offer it
    }
  }

  /** Waits over replacements of the wrapped driver's process. */
  async #innerResult(signal?: AbortSignal): Promise<ExitResult> {
    return this.#call((driver, id) => driver.waitTask(id, signal), signal);
  }

  /** One call to the wrapped task; a driver process that has died is replaced, and asked again. */
  async #call<T>(run: (driver: InnerDriver, id: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const again = createBackoff({ base: 250, limit: 10_000 });
    for (;;) {
      try {
        return await run(await this.#driver(), this.#innerId);
      } catch (reason) {
        if (!isPluginShutdown(reason) || this.#handle === undefined) throw reason;
        await sleep(again.next(), { clock: this.#o.clock, ...(signal === undefined ? {} : { signal }) });
        await (await this.#driver()).recoverTask(this.#handle);
      }
    }
  }

  async #startInner(signal?: AbortSignal): Promise<void> {
    const driver = await this.#driver();
    this.#round++;
    this.#write({ round: this.#round });
    const { handle } = await driver.startTask(await this.#innerConfig(driver), signal);
    this.#handle = handle;
    const { version, state, driverState } = handle;
    this.#write({
      round: this.#round,
      handle: { version, state, driverState: Buffer.from(driverState).toString("base64") },
    });
    this.#say("Window open: the task was started");
    this.#changed();
  }

  async #forgetInner(): Promise<void> {
    const driver = await this.#driver();
    try {
      await driver.destroyTask(this.#innerId, true);
    } catch (reason) {
      if (!isTaskNotFound(reason)) throw reason;
    }
    this.#handle = undefined;
    this.#write({ round: 0 });
  }

  async stop(timeoutMs: number, signalName: string): Promise<void> {
    this.#stop.abort();
    if (this.#handle !== undefined) await this.#call((driver, id) => driver.stopTask(id, timeoutMs, signalName));
  }

  async destroy(): Promise<void> {
    if (this.#handle !== undefined) await this.#forgetInner();
    rmSync(this.state.file, { force: true });
  }

  signal(name: string): Promise<void> {
    this.#needsInner("signal");
    return this.#call((driver, id) => driver.signalTask(id, name));
  }

  exec(command: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ExecResult> {
    this.#needsInner("exec");
    return this.#call((driver, id) => driver.execTask(id, command, timeoutMs, signal));
  }

  async *execStreaming(
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    signal: AbortSignal,
  ): AsyncIterable<ExecOutput> {
    this.#needsInner("exec");
    const driver = await this.#driver();
    if (driver.execTaskStreaming === undefined) throw new RecoverableError("the wrapped driver has no exec", false);
    yield* driver.execTaskStreaming(this.#innerId, request, input, signal);
  }

  /** Samples while the window is open, silence while it is closed. */
  async *stats(intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage> {
    while (!signal.aborted) {
      if (this.#handle === undefined) {
        await Promise.race([
          new Promise<void>((resolve) => (this.#changed = resolve)),
          new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
        ]);
        continue;
      }
      try {
        yield* (await this.#driver()).taskStats(this.#innerId, intervalMs, signal);
      } catch (reason) {
        if (!isPluginShutdown(reason)) throw reason;
      }
      await sleep(intervalMs, { clock: this.#o.clock, signal, ref: false });
    }
  }

  attributes(): Readonly<Record<string, string>> {
    return {
      window: this.#o.schedule.describe(),
      driver: this.#o.settings.driver,
      open: String(this.#handle !== undefined),
    };
  }

  #needsInner(what: string): void {
    if (this.#handle === undefined) throw new RecoverableError(`${what}: the task waits for its window`, true);
  }

  #driver(): Promise<InnerDriver> {
    return this.#o.inner.get(this.#o.settings.driver);
  }

  get #innerId(): string {
    return `${this.#o.task.id}.${this.#round}`;
  }

  async #innerConfig(driver: InnerDriver): Promise<TaskConfig> {
    const { task, settings } = this.#o;
    const msgpackDriverConfig = encodeConfig(await driver.taskConfigSchema(), verbatim(settings.config ?? {}));
    return { ...task, id: this.#innerId, msgpackDriverConfig };
  }

  #release(): void {
    if (this.#keeper !== undefined) signalProcess(this.#keeper, "SIGKILL", { group: true });
    this.#keeper = undefined;
  }

  #read(): Saved {
    try {
      return JSON.parse(readFileSync(this.state.file, "utf8")) as Saved;
    } catch {
      return { round: 0 };
    }
  }

  #write(saved: Saved): void {
    writeFileSync(`${this.state.file}.tmp`, JSON.stringify(saved), { mode: 0o600 });
    renameSync(`${this.state.file}.tmp`, this.state.file);
  }

  #say(message: string): void {
    const { task, clock, events } = this.#o;
    events.emit({
      taskId: task.id,
      allocId: task.allocId,
      taskName: task.name,
      timestampMs: clock.now(),
      message,
      annotations: {},
    });
  }
}

/** The agent has evaluated the job's `${…}` already: what is left of them is text. */
function verbatim(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/[$%]\{/g, (sign) => `${sign.slice(0, 1)}${sign}`);
  if (Array.isArray(value)) return value.map(verbatim);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, verbatim(inner)]));
}
