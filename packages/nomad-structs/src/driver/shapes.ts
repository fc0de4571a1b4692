/**
 * Shapes that driver plugins and the parts that call them share. They travel as protobuf, so their names are
 * TypeScript's; where a shape also appears in HTTP JSON (usage), the wire names of `structs/stats.ts` hold.
 */

/** How a driver keeps a task's file system apart. @public */
export type FsIsolation = "none" | "chroot" | "image" | "unveil";
/** A network mode a driver can do. @public */
export type NetworkIsolationMode = "host" | "group" | "task" | "none";
/** Whether volumes can be mounted into tasks. @public */
export type MountConfigs = "any" | "none";

/** What a driver can do. @public */
export interface DriverCapabilities {
  readonly sendSignals: boolean;
  readonly exec: boolean;
  readonly fsIsolation: FsIsolation;
  readonly networkIsolationModes: readonly NetworkIsolationMode[];
  readonly mustCreateNetwork: boolean;
  readonly mountConfigs: MountConfigs;
  readonly disableLogCollection: boolean;
  readonly dynamicWorkloadUsers: boolean;
}

/** State of a driver on a node. @public */
export type DriverHealth = "undetected" | "unhealthy" | "healthy";

/** A value of a fingerprint attribute, with its unit ("" when it has none). @public */
export interface DriverAttribute {
  readonly value: string | number | boolean | bigint;
  readonly unit?: string;
}

/** One report of a driver about itself. @public */
export interface DriverFingerprint {
  readonly attributes: Readonly<Record<string, DriverAttribute>>;
  readonly health: DriverHealth;
  readonly healthDescription: string;
  /** Set when the check itself failed. */
  readonly error?: string;
}

/** How a task ended. @public */
export interface ExitResult {
  /** −1 when unknown. */
  readonly exitCode: number;
  /** Number of the signal that ended it, else 0. */
  readonly signal: number;
  readonly oomKilled: boolean;
  /** The driver lost the task or failed; the codes above mean little then. */
  readonly error?: string;
}

/** State of a task as its driver sees it. @public */
export type DriverTaskState = "unknown" | "running" | "exited";

/** A port of the host given to a task. @public */
export interface DriverPortMapping {
  readonly label: string;
  readonly value: number;
  readonly to: number;
  readonly hostIp: string;
}

/** Limits of the Linux kernel for a task. @public */
export interface LinuxResources {
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  readonly memoryLimitBytes: number;
  readonly oomScoreAdj: number;
  readonly cpusetCpus: string;
  readonly percentTicks: number;
  readonly cpusetCgroup: string;
}

/** What a task may use. @public */
export interface DriverResources {
  /** MHz. */
  readonly cpuShares: number;
  readonly memoryMb: number;
  readonly memoryMaxMb: number;
  readonly linux?: LinuxResources;
  readonly ports: readonly DriverPortMapping[];
}

/** A folder or file that appears in a task. @public */
export interface DriverMount {
  readonly taskPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly propagationMode: string;
  readonly selinuxLabel: string;
  readonly requestName: string;
}

/** A device that appears in a task. @public */
export interface DriverDevice {
  readonly taskPath: string;
  readonly hostPath: string;
  /** Letters of `rwm`. */
  readonly cgroupPermissions: string;
}

/** A network made for a group. @public */
export interface NetworkIsolationSpec {
  readonly mode: NetworkIsolationMode;
  readonly path: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly hostsConfig?: { readonly hostname: string; readonly address: string };
}

/** Name servers of a task. @public */
export interface DriverDnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Everything a driver is told about a task it starts. @public */
export interface DriverTaskConfig {
  /** `<alloc id>/<task name>/<8 hex digits>`, new for every start. */
  readonly id: string;
  readonly name: string;
  readonly jobId: string;
  readonly jobName: string;
  readonly taskGroupName: string;
  readonly allocId: string;
  readonly namespace: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly parentJobId: string;
  /** The `config` block in the msgpack of the driver's schema; empty after an agent restart. */
  readonly msgpackDriverConfig: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  readonly deviceEnv: Readonly<Record<string, string>>;
  readonly resources?: DriverResources;
  readonly mounts: readonly DriverMount[];
  readonly devices: readonly DriverDevice[];
  readonly user: string;
  readonly allocDir: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly networkIsolation?: NetworkIsolationSpec;
  readonly dns?: DriverDnsConfig;
}

/** What a driver returns for a started task and needs to find it again. @public */
export interface DriverTaskHandle {
  /** At least 1. */
  readonly version: number;
  readonly config: DriverTaskConfig;
  readonly state: DriverTaskState;
  /** The driver's own bytes. */
  readonly driverState: Uint8Array;
}

/** What a driver says about the network of a task it started. @public */
export interface DriverNetwork {
  readonly portMap: Readonly<Record<string, number>>;
  readonly address: string;
  readonly autoAdvertise: boolean;
}

/** State of one task, for inspection. Times are milliseconds since 1970. @public */
export interface DriverTaskStatus {
  readonly id: string;
  readonly name: string;
  readonly state: DriverTaskState;
  readonly startedAtMs?: number;
  readonly completedAtMs?: number;
  readonly exitResult?: ExitResult;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A message of a driver about a task. @public */
export interface DriverTaskEvent {
  readonly taskId: string;
  readonly allocId: string;
  readonly taskName: string;
  readonly timestampMs: number;
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Size of a terminal in characters. @public */
export interface TerminalSize {
  readonly height: number;
  readonly width: number;
}
