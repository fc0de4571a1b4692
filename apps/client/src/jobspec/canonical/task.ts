import {
  make,
  TaskStruct,
  type Input,
  type Resources,
  type RestartPolicy,
  type Task,
  type TaskArtifact,
  type Template,
  type VolumeMount,
  type WorkloadIdentity,
} from "@outrider/nomad-structs";
import { canonicalNetworks } from "./network.ts";
import { layered, restartPolicy } from "./policies.ts";
import { canonicalService } from "./service.ts";

const S = 1_000_000_000;
const AUDIENCE = "nomadproject.io";

function resources(given: Input<Resources> | null | undefined): Input<Resources> {
  const { CPU, MemoryMB, ...rest } = given ?? {};
  const cores = given?.Cores ?? 0;
  return {
    ...rest,
    // Cores are whole: a share of MHz beside them is refused by validation, so none is filled in.
    CPU: CPU ?? (cores > 0 ? 0 : 100),
    MemoryMB: MemoryMB ?? 300,
    Networks: canonicalNetworks(given?.Networks),
  };
}

function template(given: Input<Template> | null): Input<Template> {
  return layered<Template>(
    { ChangeMode: "restart", Splay: 5 * S, Perms: "0644", LeftDelim: "{{", RightDelim: "}}" } as Input<Template>,
    given,
    given?.ChangeSignal ? { ChangeSignal: given.ChangeSignal.toUpperCase() } : null,
  );
}

function artifact(given: Input<TaskArtifact> | null): Input<TaskArtifact> {
  return layered<TaskArtifact>({ GetterMode: "any", RelativeDest: "local/" } as Input<TaskArtifact>, given);
}

function mount(given: Input<VolumeMount> | null): Input<VolumeMount> {
  return layered<VolumeMount>({ PropagationMode: "private" } as Input<VolumeMount>, given);
}

/** The identity every task has; the block may add to it. */
function ownIdentity(given: Input<WorkloadIdentity> | null | undefined): Input<WorkloadIdentity> {
  return { ...given, Name: "default", Audience: given?.Audience?.length ? given.Audience : [AUDIENCE] };
}

/** Where a task is, for what its services are called. */
export interface TaskPlace {
  readonly type: string;
  readonly namespace: string;
  readonly job: string;
  readonly group: string;
  readonly restart: RestartPolicy;
}

/** A task with Nomad's defaults. */
export function canonicalTask(given: Input<Task>, at: TaskPlace): Task {
  const { Services: services, Artifacts: artifacts, ...rest } = given;
  const task = make(TaskStruct, {
    ...rest,
    Resources: resources(given.Resources),
    Templates: given.Templates?.map(template),
    VolumeMounts: given.VolumeMounts?.map(mount),
    LogConfig: layered({ MaxFiles: 10, MaxFileSizeMB: 10 }, given.LogConfig),
    KillTimeout: given.KillTimeout ?? 5 * S,
    Identity: ownIdentity(given.Identity),
    Artifacts: artifacts?.map(artifact),
  });
  const names = { job: at.job, group: at.group, task: task.Name, namespace: at.namespace };
  task.Services = services?.map((service) => canonicalService(service ?? {}, names)) ?? null;
  task.RestartPolicy = restartPolicy(at.type, at.restart as Input<RestartPolicy>, given.RestartPolicy);
  if (task.LogConfig !== null) {
    // The older word for the opposite; the newer one wins when it is set.
    if (given.LogConfig?.Enabled === false && (given.LogConfig.Disabled ?? null) === null)
      task.LogConfig.Disabled = true;
    delete task.LogConfig.Enabled;
  }
  return task;
}
