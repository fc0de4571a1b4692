/** Task-side shapes of the driver contract. Names follow Nomad's protocol, units are in the names. */

/**
 * A port of the allocation, as the driver sees it.
 * @public
 */
export interface PortMapping {
  readonly label: string;
  readonly value: number;
  readonly to: number;
  readonly hostIp: string;
}

/**
 * A port inside a network resource.
 * @public
 */
export interface NetworkPort {
  readonly label: string;
  readonly value: number;
}

/**
 * A network given to the task (old style, one entry per device).
 * @public
 */
export interface NetworkResource {
  readonly device: string;
  readonly cidr: string;
  readonly ip: string;
  readonly mbits: number;
  readonly reservedPorts: readonly NetworkPort[];
  readonly dynamicPorts: readonly NetworkPort[];
}

/**
 * What the scheduler granted to the task.
 * @public
 */
export interface AllocatedResources {
  /** CPU in MHz. */
  readonly cpuShares: number;
  readonly memoryMb: number;
  /** 0 = no oversubscription. */
  readonly memoryMaxMb: number;
  readonly networks: readonly NetworkResource[];
}

/**
 * The grant in terms of Linux controls.
 * @public
 */
export interface LinuxResources {
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  readonly memoryLimitBytes: number;
  readonly oomScoreAdj: number;
  /** Reserved cores, for example `0,2,3`; empty = any. */
  readonly cpusetCpus: string;
  /** The cgroup that the client prepared for the task; empty = none. */
  readonly cpusetCgroup: string;
  /** Task CPU over the usable compute of the node, 0..1. */
  readonly percentTicks: number;
}

/**
 * Resources of one task.
 * @public
 */
export interface TaskResources {
  readonly allocated?: AllocatedResources;
  readonly linux?: LinuxResources;
  readonly ports: readonly PortMapping[];
}

/**
 * A host folder or file that the driver makes visible in the task.
 * @public
 */
export interface Mount {
  readonly taskPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly propagationMode: string;
  readonly selinuxLabel: string;
  readonly requestName: string;
}

/**
 * A device node that the driver makes visible in the task.
 * @public
 */
export interface Device {
  readonly taskPath: string;
  readonly hostPath: string;
  /** Letters of `rwm`. */
  readonly cgroupPermissions: string;
}

/**
 * How a group's network is separated.
 * @public
 */
export type NetworkIsolationMode = "host" | "group" | "task" | "none";

/**
 * A network made for the allocation.
 * @public
 */
export interface NetworkIsolationSpec {
  readonly mode: NetworkIsolationMode;
  readonly path: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly hosts?: { readonly hostname: string; readonly address: string };
}

/**
 * Name service settings of the task.
 * @public
 */
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/**
 * Everything a driver needs to start one task.
 *
 * `driverConfig` holds the msgpack bytes of the job's `config` block, decoded by the driver's schema; it is **empty** in a handle
 * that was restored after a restart of the client, so nothing in it may be needed by `recoverTask`.
 * @public
 */
export interface TaskConfig {
  /** `<alloc id>/<task name>/<8 hex digits>`, new for every start. */
  readonly id: string;
  readonly name: string;
  readonly driverConfig: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  readonly deviceEnv: Readonly<Record<string, string>>;
  readonly resources: TaskResources;
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Empty = the driver's default user. */
  readonly user: string;
  /** The allocation's folder; the task's folder is `<allocDir>/<name>`. */
  readonly allocDir: string;
  /** A fifo that has a reader, or `/dev/null`. */
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly taskGroupName: string;
  readonly jobName: string;
  readonly jobId: string;
  /** Nomad defines this field and never sends it. */
  readonly parentJobId: string;
  readonly allocId: string;
  readonly namespace: string;
  readonly nodeName: string;
  readonly nodeId: string;
  readonly networkIsolation?: NetworkIsolationSpec;
  readonly dns?: DnsConfig;
}

/**
 * State of a task as its driver sees it.
 * @public
 */
export type DriverTaskState = "unknown" | "running" | "exited";

/**
 * What a client keeps of a started task, and hands back to `recoverTask`.
 * @public
 */
export interface TaskHandle {
  /** Format of `driverState`, chosen by the driver; at least 1 (0 means older than Nomad 0.9). */
  readonly version: number;
  readonly config: TaskConfig;
  readonly state: DriverTaskState;
  /** All that the driver needs to find the task again; its own encoding. */
  readonly driverState: Uint8Array;
}

/**
 * An address that the driver gave the task, overriding the host's.
 * @public
 */
export interface DriverNetwork {
  readonly portMap: Readonly<Record<string, number>>;
  readonly ip: string;
  readonly autoAdvertise: boolean;
}

/**
 * How a task ended.
 * @public
 */
export interface ExitResult {
  /** -1 when unknown; 128 + signal when a signal ended the task. */
  readonly exitCode: number;
  /** 0 = not ended by a signal. */
  readonly signal: number;
  readonly oomKilled: boolean;
  /** Why the driver lost the task, when it did. */
  readonly error?: string;
}

/**
 * Answer of `inspectTask`.
 * @public
 */
export interface TaskStatus {
  readonly id: string;
  readonly name: string;
  readonly state: DriverTaskState;
  /** Epoch milliseconds; 0 = not yet. */
  readonly startedAtMs: number;
  readonly completedAtMs: number;
  readonly exitResult?: ExitResult;
  readonly driverAttributes: Readonly<Record<string, string>>;
  readonly network?: DriverNetwork;
}
