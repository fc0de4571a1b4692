import type { Allocation, DNSConfig, DriverDevice, DriverMount, Node, Task } from "@outrider/nomad-structs";
import type { TaskConfig } from "@outrider/plugin-driver";
import type { TaskDir } from "@outrider/allocdir-interface";
import { coreList } from "./env/builtin-env.ts";
import type { TaskEnv } from "./env/task-env.ts";

const MIB = 1024 * 1024;
const NULL_DEVICE = "/dev/null";

export interface TaskConfigParts {
  readonly id: string;
  readonly alloc: Allocation;
  readonly task: Task;
  readonly node: Node;
  readonly taskDir: TaskDir;
  readonly env: TaskEnv;
  readonly driverConfig: Uint8Array;
  readonly mounts: readonly DriverMount[];
  readonly devices: readonly DriverDevice[];
  /** Name servers from the allocation's own network. */
  readonly networkDns: DNSConfig | null;
}

/** The file names of a task's log fifos below its log folder. */
export function logFifos(taskDir: TaskDir, task: string): { readonly stdout: string; readonly stderr: string } {
  return { stdout: `${taskDir.logDir}/.${task}.stdout.fifo`, stderr: `${taskDir.logDir}/.${task}.stderr.fifo` };
}

/** All that a driver is told of a task (client-runtime.md 4.5). */
export function makeTaskConfig(parts: TaskConfigParts): TaskConfig {
  const { alloc, task, taskDir, env, node } = parts;
  const fifos = logFifos(taskDir, task.Name);
  const silent = task.LogConfig?.Disabled === true;
  const dns = alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup)?.Networks?.[0]?.DNS ?? parts.networkDns;
  return {
    id: parts.id,
    name: task.Name,
    msgpackDriverConfig: parts.driverConfig,
    env: env.all,
    deviceEnv: env.device,
    resources: resourcesOf(alloc, task, node),
    mounts: parts.mounts,
    devices: parts.devices,
    user: env.replace(task.User),
    allocDir: taskDir.allocDir,
    stdoutPath: silent ? NULL_DEVICE : fifos.stdout,
    stderrPath: silent ? NULL_DEVICE : fifos.stderr,
    taskGroupName: alloc.TaskGroup,
    jobName: alloc.Job?.Name ?? "",
    jobId: alloc.JobID,
    parentJobId: alloc.Job?.ParentID ?? "",
    allocId: alloc.ID,
    namespace: alloc.Namespace,
    nodeName: node.Name,
    nodeId: node.ID,
    ...(dns === null
      ? {}
      : { dns: { servers: dns.Servers ?? [], searches: dns.Searches ?? [], options: dns.Options ?? [] } }),
  };
}

function resourcesOf(alloc: Allocation, task: Task, node: Node): NonNullable<TaskConfig["resources"]> {
  const granted = alloc.AllocatedResources?.Tasks?.[task.Name];
  const shares = granted?.Cpu.CpuShares ?? 0;
  const memoryMb = granted?.Memory.MemoryMB ?? 0;
  const memoryMaxMb = granted?.Memory.MemoryMaxMB ?? 0;
  const usable = (node.NodeResources?.Cpu.CpuShares ?? 0) - (node.ReservedResources?.Cpu.CpuShares ?? 0);
  return {
    cpuShares: shares,
    memoryMb,
    memoryMaxMb,
    linux: {
      cpuPeriod: 0,
      cpuQuota: 0,
      cpuShares: shares,
      memoryLimitBytes: Math.max(memoryMb, memoryMaxMb) * MIB,
      oomScoreAdj: 0,
      cpusetCpus: coreList(granted?.Cpu.ReservedCores ?? []),
      cpusetCgroup: "",
      percentTicks: usable > 0 ? Math.min(1, shares / usable) : 0,
    },
    ports: (alloc.AllocatedResources?.Shared.Ports ?? []).map((port) => ({
      label: port.Label,
      value: port.Value,
      to: port.To,
      hostIp: port.HostIP,
    })),
  };
}
