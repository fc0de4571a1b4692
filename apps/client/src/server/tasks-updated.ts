import { isDeepStrictEqual } from "node:util";
import type { Job, Task, TaskGroup } from "@outrider/nomad-structs";

/** Whether running tasks of a group must be replaced to become what the new job says; else the change is taken in place. */
export function tasksUpdated(before: Job, after: Job, groupName: string): boolean {
  const a = before.TaskGroups?.find((group) => group.Name === groupName);
  const b = after.TaskGroups?.find((group) => group.Name === groupName);
  if (a === undefined || b === undefined) return true;
  if ((a.Tasks?.length ?? 0) !== (b.Tasks?.length ?? 0)) return true;
  if (!isDeepStrictEqual(a.EphemeralDisk, b.EphemeralDisk)) return true;
  if (!isDeepStrictEqual(a.Networks, b.Networks) || !isDeepStrictEqual(a.Volumes, b.Volumes)) return true;
  return (a.Tasks ?? []).some((task) => {
    const other = b.Tasks?.find((t) => t.Name === task.Name);
    return (
      other === undefined ||
      taskUpdated(task, other) ||
      !isDeepStrictEqual(meta(before, a, task), meta(after, b, other))
    );
  });
}

function taskUpdated(a: Task, b: Task): boolean {
  return !isDeepStrictEqual(fixed(a), fixed(b));
}

/** The parts of a task that a running process cannot take over. A changed lifecycle too: runners are built by it once. */
function fixed(task: Task): unknown {
  return {
    driver: task.Driver,
    user: task.User,
    config: task.Config,
    env: task.Env,
    artifacts: task.Artifacts,
    templates: task.Templates,
    vault: task.Vault,
    secrets: task.Secrets,
    payload: task.DispatchPayload,
    lifecycle: task.Lifecycle,
    leader: task.Leader,
    mounts: task.VolumeMounts,
    logs: task.LogConfig,
    cpu: task.Resources?.CPU,
    cores: task.Resources?.Cores,
    memory: task.Resources?.MemoryMB,
    memoryMax: task.Resources?.MemoryMaxMB,
    secretsMB: task.Resources?.SecretsMB,
    devices: task.Resources?.Devices,
    identities: task.Identities,
  };
}

function meta(job: Job, group: TaskGroup, task: Task): Record<string, string> {
  return { ...job.Meta, ...group.Meta, ...task.Meta };
}

/** Whether two jobs ask for the same: what the server itself keeps in a job does not count. */
export function sameSpec(a: Job, b: Job): boolean {
  return isDeepStrictEqual(spec(a), spec(b));
}

function spec(job: Job): unknown {
  const {
    Status: _1,
    StatusDescription: _2,
    Stable: _3,
    Version: _4,
    SubmitTime: _5,
    CreateIndex: _6,
    ModifyIndex: _7,
    JobModifyIndex: _8,
    VersionTag: _9,
    NomadTokenID: _10,
    ...rest
  } = job;
  return rest;
}
