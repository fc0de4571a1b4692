import type { Allocation, Node, Task, TaskGroup } from "@outrider/nomad-structs";
import type { Capabilities } from "@outrider/plugin-driver";

/** The folders of a task, as some process sees them. */
export interface TaskPaths {
  readonly allocDir: string;
  readonly localDir: string;
  readonly secretsDir: string;
}

/** The folders as the task itself sees them: host paths unless its driver gives it a file system of its own. */
export function pathsInTask(
  isolation: Capabilities["fsIsolation"],
  host: TaskPaths,
  mounts: TaskPaths | undefined,
): TaskPaths {
  if (isolation === "none") return host;
  if (isolation === "unveil") return mounts ?? host;
  return { allocDir: "/alloc", localDir: "/local", secretsDir: "/secrets" };
}

/** The `NOMAD_…` variables that follow from the allocation alone. */
export function builtinEnv(
  alloc: Allocation,
  task: Task | undefined,
  region: string,
  node: Node,
): Record<string, string> {
  const job = alloc.Job;
  const index = /\[(\d+)\]$/.exec(alloc.Name)?.[1];
  const granted = task === undefined ? undefined : alloc.AllocatedResources?.Tasks?.[task.Name];
  const env: Record<string, string> = {
    NOMAD_ALLOC_ID: alloc.ID,
    NOMAD_SHORT_ALLOC_ID: alloc.ID.slice(0, 8),
    NOMAD_ALLOC_NAME: alloc.Name,
    NOMAD_GROUP_NAME: alloc.TaskGroup,
    NOMAD_DC: node.Datacenter,
    NOMAD_REGION: region,
    NOMAD_NAMESPACE: alloc.Namespace,
    NOMAD_PARENT_CGROUP: node.CgroupParent,
    NOMAD_JOB_ID: job?.ID ?? alloc.JobID,
    NOMAD_JOB_NAME: job?.Name ?? "",
    NOMAD_JOB_PARENT_ID: job?.ParentID ?? "",
    NOMAD_TASK_NAME: task?.Name ?? "",
  };
  if (index !== undefined) env["NOMAD_ALLOC_INDEX"] = index;
  if (granted !== undefined) {
    const { Cpu, Memory } = granted;
    env["NOMAD_CPU_LIMIT"] = String(Cpu.CpuShares);
    env["NOMAD_MEMORY_LIMIT"] = String(Memory.MemoryMB);
    if (Memory.MemoryMaxMB > 0) env["NOMAD_MEMORY_MAX_LIMIT"] = String(Memory.MemoryMaxMB);
    if ((Cpu.ReservedCores ?? []).length > 0) env["NOMAD_CPU_CORES"] = coreList(Cpu.ReservedCores ?? []);
  }
  for (const [name, value] of Object.entries(env)) if (value === "") delete env[name];
  return env;
}

/** Cores as a cpuset list: `0-2,5`. */
export function coreList(cores: readonly number[]): string {
  const sorted = [...cores].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length;) {
    let end = i;
    while (sorted[end + 1] === (sorted[end] as number) + 1) end++;
    parts.push(end === i ? `${sorted[i]}` : `${sorted[i]}-${sorted[end]}`);
    i = end + 1;
  }
  return parts.join(",");
}

/** `NOMAD_META_<key>` and `NOMAD_META_<KEY>`; the task's meta wins over the group's, that over the job's. */
export function metaEnv(
  alloc: Allocation,
  group: TaskGroup | undefined,
  task: Task | undefined,
): Record<string, string> {
  const optional = alloc.Job?.Dispatched === true ? (alloc.Job.ParameterizedJob?.MetaOptional ?? []) : [];
  const meta: Record<string, string> = {
    ...Object.fromEntries(optional.map((key) => [key, ""])),
    ...alloc.Job?.Meta,
    ...group?.Meta,
    ...task?.Meta,
  };
  const env: Record<string, string> = {};
  for (const [key, value] of Object.entries(meta)) env[`NOMAD_META_${key.toUpperCase()}`] = value;
  for (const [key, value] of Object.entries(meta)) env[`NOMAD_META_${key}`] = value;
  return env;
}
