/** A driver whose tasks are entries of a map: complete, and steered by the tests. */
import { onAbort } from "@outrider/backoff";
import {
  type Capabilities,
  type DriverPlugin,
  type DriverTaskEvent,
  type ExecInput,
  type ExecOutput,
  type ExecRequest,
  type ExecResult,
  type ExitResult,
  type Fingerprint,
  type HclSpec,
  type InspectedTask,
  type NomadDriverConfig,
  type PluginInfo,
  type StartedTask,
  type TaskConfig,
  type TaskHandle,
  TaskNotFoundError,
  type TaskResourceUsage,
} from "../../src/index.ts";

/** A stream that fails, or that stays silent until the signal. */
export function broken(reason: unknown): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason as Error) }) };
}

export function quiet(signal: AbortSignal): AsyncIterable<never> {
  const next = (): Promise<IteratorResult<never, undefined>> =>
    untilAborted(signal).then(() => ({ done: true, value: undefined }));
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

interface MemoryTask {
  readonly config: TaskConfig;
  readonly ended: Promise<ExitResult>;
  end(result: ExitResult): void;
  result?: ExitResult;
}

export const SAMPLE: TaskResourceUsage = {
  Timestamp: 1_800_000_000_123_000_000,
  ResourceUsage: {
    CpuStats: {
      SystemMode: 0,
      UserMode: 1.25,
      TotalTicks: 30,
      ThrottledPeriods: 3,
      ThrottledTime: 4,
      Percent: 1.5,
      Measured: ["System Mode", "User Mode", "Percent"],
    },
    MemoryStats: {
      RSS: 4_849_664,
      Cache: 1,
      Swap: 2,
      MappedFile: 0,
      Usage: 3,
      MaxUsage: 4,
      KernelUsage: 5,
      KernelMaxUsage: 6,
      Measured: ["RSS", "Swap"],
    },
    DeviceStats: [],
  },
  Pids: null,
};

export const EXITED: ExitResult = { exitCode: 3, signal: 0, oomKilled: false };

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => onAbort(signal, () => resolve()));
}

export class MemoryDriver implements DriverPlugin {
  readonly tasks = new Map<string, MemoryTask>();
  readonly calls: string[] = [];
  config: Uint8Array | undefined;
  nomad: NomadDriverConfig | undefined;
  name = "memory";
  samples: TaskResourceUsage[] = [SAMPLE];

  info(): Promise<PluginInfo> {
    return Promise.resolve({ name: this.name, type: "driver", version: "1.2.3", apiVersions: ["v0.1.0"] });
  }
  configSchema(): Promise<HclSpec | undefined> {
    return Promise.resolve({ kind: "object", attributes: {} });
  }
  setConfig(config: Uint8Array, nomad?: NomadDriverConfig): Promise<void> {
    this.config = config;
    this.nomad = nomad;
    return Promise.resolve();
  }
  taskConfigSchema(): Promise<HclSpec> {
    return Promise.resolve({
      kind: "object",
      attributes: { command: { kind: "attr", name: "command", type: "string", required: true } },
    });
  }
  capabilities(): Promise<Capabilities> {
    return Promise.resolve({
      sendSignals: true,
      exec: true,
      fsIsolation: "chroot",
      networkIsolationModes: ["host", "group"],
      mustCreateNetwork: false,
      mountConfigs: "none",
      disableLogCollection: true,
      dynamicWorkloadUsers: true,
    });
  }
  async *fingerprint(signal: AbortSignal): AsyncIterable<Fingerprint> {
    yield {
      attributes: { "driver.memory": { value: true }, "driver.memory.size": { value: 12, unit: "MiB" } },
      health: "healthy",
      healthDescription: "Healthy",
    };
    await untilAborted(signal);
  }
  recoverTask(handle: TaskHandle): Promise<void> {
    this.calls.push(`recover ${handle.config.id}`);
    if (!this.tasks.has(handle.config.id)) return Promise.reject(new Error("gone for good"));
    return Promise.resolve();
  }
  startTask(config: TaskConfig): Promise<StartedTask> {
    let end: (result: ExitResult) => void = () => undefined;
    const ended = new Promise<ExitResult>((resolve) => (end = resolve));
    const task: MemoryTask = {
      config,
      ended,
      end: (result) => {
        task.result ??= result;
        end(result);
      },
    };
    this.tasks.set(config.id, task);
    return Promise.resolve({
      handle: { version: 1, config, state: "running", driverState: new TextEncoder().encode("state") },
      network: { portMap: { http: 8080 }, address: "10.0.0.2", autoAdvertise: true },
    });
  }
  waitTask(taskId: string, signal?: AbortSignal): Promise<ExitResult> {
    const { ended } = this.task(taskId);
    if (signal === undefined) return ended;
    return Promise.race([ended, untilAborted(signal).then(() => Promise.reject(signal.reason as Error))]);
  }
  stopTask(taskId: string, timeoutMs: number, signalName: string): Promise<void> {
    this.calls.push(`stop ${timeoutMs} ${signalName}`);
    this.task(taskId).end({ exitCode: 130, signal: 2, oomKilled: false });
    return Promise.resolve();
  }
  destroyTask(taskId: string, force: boolean): Promise<void> {
    this.calls.push(`destroy ${force}`);
    this.task(taskId);
    this.tasks.delete(taskId);
    return Promise.resolve();
  }
  inspectTask(taskId: string): Promise<InspectedTask> {
    const { config, result } = this.task(taskId);
    return Promise.resolve({
      status: {
        id: taskId,
        name: config.name,
        state: result === undefined ? "running" : "exited",
        startedAtMs: 1_700_000_000_000,
        ...(result === undefined ? {} : { completedAtMs: 1_700_000_001_000, exitResult: result }),
        attributes: { pid: "12" },
      },
    });
  }
  async *taskStats(taskId: string, intervalMs: number, signal: AbortSignal): AsyncIterable<TaskResourceUsage> {
    this.task(taskId);
    this.calls.push(`stats ${intervalMs}`);
    yield* this.samples;
    await Promise.race([untilAborted(signal), this.task(taskId).ended]);
  }
  async *taskEvents(signal: AbortSignal): AsyncIterable<DriverTaskEvent> {
    yield {
      taskId: "t",
      allocId: "a",
      taskName: "n",
      timestampMs: 1_700_000_000_500,
      message: "pulled",
      annotations: { image: "x" },
    };
    await untilAborted(signal);
  }
  signalTask(taskId: string, signalName: string): Promise<void> {
    this.task(taskId);
    this.calls.push(`signal ${signalName}`);
    return signalName === "SIGHUP" ? Promise.resolve() : Promise.reject(new Error(`unknown signal ${signalName}`));
  }
  execTask(taskId: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    this.task(taskId);
    return Promise.resolve({
      stdout: Buffer.from(command.join(" ")),
      stderr: Buffer.from(String(timeoutMs)),
      exitResult: EXITED,
    });
  }
  async *execTaskStreaming(
    taskId: string,
    request: ExecRequest,
    input: AsyncIterable<ExecInput>,
    _signal: AbortSignal,
  ): AsyncIterable<ExecOutput> {
    this.task(taskId);
    for await (const { stdin, ttySize } of input) {
      if (ttySize !== undefined) this.calls.push(`tty ${ttySize.width}x${ttySize.height}`);
      if (stdin?.data !== undefined) yield { stdout: { data: stdin.data } };
      if (stdin?.close === true) break;
    }
    yield { stderr: { data: Buffer.from(request.command.join(" ")) } };
    yield { exited: EXITED };
  }

  task(taskId: string): MemoryTask {
    const task = this.tasks.get(taskId);
    if (task === undefined) throw new TaskNotFoundError(taskId);
    return task;
  }
}

export function taskConfig(over: Partial<TaskConfig> = {}): TaskConfig {
  return {
    id: "0430d997-72d7-20d5-9a71-463546eb3aeb/web/30371515",
    name: "web",
    jobId: "web1",
    jobName: "web1",
    taskGroupName: "g",
    allocId: "0430d997-72d7-20d5-9a71-463546eb3aeb",
    namespace: "default",
    nodeId: "n1",
    nodeName: "node1",
    parentJobId: "",
    msgpackDriverConfig: new Uint8Array([0x80]),
    env: { HOME: "/", NOMAD_PLUGIN_MAGIC_COOKIE: "x", PLUGIN_CLIENT_CERT: "y" },
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir: "/alloc",
    stdoutPath: "/dev/null",
    stderrPath: "/dev/null",
    ...over,
  };
}
