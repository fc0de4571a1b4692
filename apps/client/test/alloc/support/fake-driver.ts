import { onAbort, type Clock } from "@outrider/backoff";
import {
  PluginShutdownError,
  RecoverableError,
  TaskNotFoundError,
  type Capabilities,
  type DriverPlugin,
  type ExitResult,
  type StartedTask,
  type TaskConfig,
  type TaskHandle,
} from "@outrider/plugin-driver";
import type { DriverInstance, DriverManager } from "../../../src/driver/driver-manager.ts";
import { fakeProgram, type FakeProgram } from "./fake-program.ts";

const CAPABILITIES: Capabilities = {
  sendSignals: true,
  exec: true,
  fsIsolation: "none",
  networkIsolationModes: ["host"],
  mustCreateNetwork: false,
  mountConfigs: "none",
  disableLogCollection: false,
  dynamicWorkloadUsers: false,
};

/** A process that lives on the manual clock. */
export class FakeProcess {
  readonly config: TaskConfig;
  readonly program: FakeProgram;
  readonly signals: string[] = [];
  result: ExitResult | undefined;
  readonly exited: Promise<ExitResult>;
  readonly #clock: Clock;
  #resolve: (result: ExitResult) => void = () => undefined;

  constructor(config: TaskConfig, program: FakeProgram, clock: Clock) {
    this.config = config;
    this.program = program;
    this.#clock = clock;
    this.exited = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (program.endsAfterMs !== undefined) {
      const end = { exitCode: program.exitCode, signal: program.signal, oomKilled: false };
      clock.setTimeout(() => this.end(end), Math.max(1, program.endsAfterMs));
    }
  }

  end(result: ExitResult): void {
    if (this.result !== undefined) return;
    this.result = result;
    this.#resolve(result);
  }

  stop(timeoutMs: number): void {
    if (timeoutMs === 0 || this.program.ignoresInterrupt) {
      this.#clock.setTimeout(() => this.end({ exitCode: 137, signal: 9, oomKilled: false }), Math.max(1, timeoutMs));
    } else {
      this.#clock.setTimeout(() => this.end({ exitCode: 130, signal: 2, oomKilled: false }), 2);
    }
  }
}

/** The machine below the driver: its processes outlive agents and driver processes. */
export class FakeMachine implements Pick<DriverManager, "dispense"> {
  readonly clock: Clock;
  readonly processes = new Map<string, FakeProcess>();
  /** Every start that was made, in order. */
  readonly starts: TaskConfig[] = [];
  readonly calls: string[] = [];
  startMs = 3;
  /** Failures to throw from the next starts. */
  readonly startFailures: unknown[] = [];
  readonly stopFailures: unknown[] = [];
  readonly recoverFailures: unknown[] = [];
  /** Runs inside `startTask` when the process exists but the answer has not left yet. */
  afterSpawn: (() => void | Promise<void>) | undefined;
  capabilities: Capabilities = CAPABILITIES;
  #generation = 1;
  #instance: DriverInstance | undefined;
  #gone: () => void = () => undefined;
  #waiting: Array<() => void> = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The driver's process dies and a new one comes up; tasks live on. */
  restartDriver(): void {
    this.#instance = undefined;
    this.#generation++;
    this.#gone();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Reboot: every process is gone. */
  reboot(): void {
    for (const process of this.processes.values()) process.end({ exitCode: 137, signal: 9, oomKilled: false });
    this.processes.clear();
    this.restartDriver();
  }

  running(): FakeProcess[] {
    return [...this.processes.values()].filter((p) => p.result === undefined);
  }

  async dispense(name: string, o: { signal: AbortSignal; newerThan?: number }): Promise<DriverInstance> {
    if (name !== "raw_exec") throw new Error(`driver ${name} is unknown`);
    while (o.newerThan !== undefined && this.#generation <= o.newerThan) {
      o.signal.throwIfAborted();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#instance ??= this.#newInstance();
    return this.#instance;
  }

  #newInstance(): DriverInstance {
    const gone = new Promise<void>((resolve) => {
      this.#gone = resolve;
    });
    const generation = this.#generation;
    return { name: "raw_exec", generation, plugin: this.#plugin(gone, generation), gone };
  }

  #plugin(gone: Promise<void>, generation: number): DriverPlugin {
    const known = new Set<string>(generation === 1 ? [...this.processes.keys()] : []);
    const alive = <T>(work: Promise<T>): Promise<T> => {
      if (generation !== this.#generation) return Promise.reject(new PluginShutdownError());
      return Promise.race([work, gone.then(() => Promise.reject(new PluginShutdownError()))]);
    };
    const find = (id: string): FakeProcess => {
      const process = this.processes.get(id);
      if (process === undefined || !known.has(id)) throw new TaskNotFoundError(id);
      return process;
    };
    const abortable = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
      signal === undefined
        ? work
        : new Promise<T>((resolve, reject) => {
            const forget = onAbort(signal, () => reject(signal.reason as Error));
            work.then(resolve, reject).finally(forget);
            void gone.then(forget);
          });
    const plugin: Partial<DriverPlugin> = {
      taskConfigSchema: () => Promise.resolve({ kind: "object", attributes: {} }),
      capabilities: () => Promise.resolve(this.capabilities),
      startTask: (config) => alive(this.#start(config, known)),
      waitTask: (id, signal) =>
        alive(
          abortable(
            Promise.resolve().then(() => find(id).exited),
            signal,
          ),
        ),
      stopTask: (id, timeoutMs, signalName) =>
        alive(
          (async () => {
            this.calls.push(`stop ${id.split("/")[1]} ${timeoutMs} ${signalName}`);
            const failure = this.stopFailures.shift();
            if (failure !== undefined) throw failure;
            const process = find(id);
            process.stop(timeoutMs);
            await process.exited;
          })(),
        ),
      destroyTask: async (id) => {
        const process = this.processes.get(id);
        if (process === undefined) throw new TaskNotFoundError(id);
        process.end({ exitCode: 137, signal: 9, oomKilled: false });
        this.processes.delete(id);
      },
      inspectTask: async (id) => {
        if (!this.processes.has(id)) throw new TaskNotFoundError(id);
        return {} as never;
      },
      recoverTask: async (handle: TaskHandle) => {
        const failure = this.recoverFailures.shift();
        if (failure !== undefined) throw failure;
        if (!this.processes.has(handle.config.id)) throw new Error(`no process for ${handle.config.id}`);
        known.add(handle.config.id);
      },
      signalTask: async (id, name) => {
        find(id).signals.push(name);
      },
      async *taskStats() {
        // Nothing to measure.
      },
    };
    return plugin as DriverPlugin;
  }

  async #start(config: TaskConfig, known: Set<string>): Promise<StartedTask> {
    const handle: TaskHandle = { version: 1, config, state: "running", driverState: new Uint8Array([1, 2, 3]) };
    known.add(config.id);
    if (this.processes.has(config.id)) return { handle };
    const failure = this.startFailures.shift();
    if (failure !== undefined) throw failure;
    const { command, args = [] } = JSON.parse(Buffer.from(config.msgpackDriverConfig).toString()) as {
      command: string;
      args?: string[];
    };
    if (command.startsWith("/no/"))
      throw new RecoverableError(`binary ${JSON.stringify(command)} could not be found`, false);
    this.starts.push(config);
    this.processes.set(config.id, new FakeProcess(config, fakeProgram(args), this.clock));
    await this.afterSpawn?.();
    await new Promise<void>((resolve) => this.clock.setTimeout(resolve, this.startMs));
    return { handle };
  }
}
