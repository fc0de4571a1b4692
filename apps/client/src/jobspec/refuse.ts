import type { Job, Service, Task, TaskArtifact, TaskGroup, Template } from "@outrider/nomad-structs";
import { Report, type JobFieldError } from "./validate/report.ts";

/** Parts of a job that a client may or may not be able to honour, by the name used in refusals. */
export const OPTIONAL_FEATURES = [
  "action",
  "artifact",
  "cores",
  "dispatch-payload",
  "host-volume",
  "identity",
  "multiregion",
  "network-ports",
  "nomad-service",
  "parameterized",
  "periodic",
  "scaling",
  "template",
] as const;
/** A name of {@link OPTIONAL_FEATURES}. */
export type OptionalFeature = (typeof OPTIONAL_FEATURES)[number];

/** What is wrong with a part: its field, and in words what. */
export interface PartFault {
  readonly field: string;
  readonly message: string;
}

/** Judges of parts that the client honours in some forms only. */
export interface PartJudges {
  readonly artifact?: (artifact: TaskArtifact) => readonly PartFault[];
  readonly template?: (template: Template) => readonly PartFault[];
  readonly service?: (service: Service) => readonly PartFault[];
}

/** What the client at hand can do. */
export interface RefuseOptions {
  /** Names of the drivers that it has. */
  readonly drivers: readonly string[];
  /** Optional parts that it honours; default none. */
  readonly supported?: readonly OptionalFeature[];
  /** Asked for each such part of the job. */
  readonly judges?: PartJudges;
}

class Refusals {
  readonly #supported: ReadonlySet<string>;

  constructor(supported: readonly OptionalFeature[]) {
    this.#supported = new Set(supported);
  }

  /** Refuses what a judge finds in the parts of one kind. */
  parts<T>(
    kind: string,
    list: readonly T[] | null,
    judge: ((part: T) => readonly PartFault[]) | undefined,
    at: (i: number, part: T) => Report,
  ): void {
    if (judge === undefined) return;
    for (const [i, part] of (list ?? []).entries()) {
      for (const { field, message } of judge(part))
        at(i, part).error(`unsupported-${kind}`, field, (part as Record<string, unknown>)[field], message);
    }
  }

  /** Refuses an optional part that is not honoured. */
  optional(feature: OptionalFeature, present: boolean, field: string, what: string, r: Report): void {
    if (present && !this.#supported.has(feature)) this.never(`unsupported-${feature}`, true, field, what, r);
  }

  /** Refuses a part that this client never honours. */
  never(code: string, present: boolean, field: string, what: string, r: Report): void {
    if (present) r.error(code, field, what, `${what} is not supported by this client`);
  }
}

function refuseServices(services: readonly Service[] | null, o: RefuseOptions, refuse: Refusals, r: Report): void {
  refuse.parts("service", services, o.judges?.service, (i, service) =>
    r.at(`Services[${i}]`, `service ${JSON.stringify(service.Name)}`),
  );
  for (const [i, service] of (services ?? []).entries()) {
    const at = r.at(`Services[${i}]`, `service ${JSON.stringify(service.Name)}`);
    refuse.never("unsupported-connect", service.Connect !== null, "Connect", "Consul Connect", at);
    const consul = service.Provider === "consul";
    refuse.never(
      "unsupported-consul-service",
      consul,
      "Provider",
      'a service of provider "consul" (say provider = "nomad")',
      at,
    );
    refuse.optional("nomad-service", !consul, "Provider", "a service", at);
  }
}

function refuseNetworks(group: TaskGroup, refuse: Refusals, r: Report): void {
  for (const [i, network] of (group.Networks ?? []).entries()) {
    const at = r.at(`Networks[${i}]`);
    const mode = network.Mode;
    const plain = mode === "" || mode === "host" || mode === "none";
    refuse.never("unsupported-network-mode", !plain, "Mode", `the network mode ${JSON.stringify(mode)}`, at);
    refuse.never("unsupported-network-dns", network.DNS !== null, "DNS", "a dns block", at);
    refuse.never("unsupported-network-hostname", network.Hostname !== "", "Hostname", "a network hostname", at);
    refuse.never("unsupported-cni", network.CNI !== null, "CNI", "a cni block", at);
    const ports = (network.ReservedPorts?.length ?? 0) + (network.DynamicPorts?.length ?? 0);
    refuse.optional("network-ports", ports > 0, "", "a network port", at);
  }
}

function refuseTask(task: Task, o: RefuseOptions, refuse: Refusals, r: Report): void {
  if (task.Driver !== "" && !o.drivers.includes(task.Driver)) {
    const have = o.drivers.length === 0 ? "none" : o.drivers.join(", ");
    r.error(
      "unsupported-driver",
      "Driver",
      task.Driver,
      `this client has no driver ${JSON.stringify(task.Driver)} (it has ${have})`,
    );
  }
  refuse.never("unsupported-vault", task.Vault !== null, "Vault", "a vault block (Vault is not enabled)", r);
  refuse.never("unsupported-consul", task.Consul !== null, "Consul", "a consul block", r);
  refuse.never("unsupported-secret", (task.Secrets?.length ?? 0) > 0, "Secrets", "a secret block", r);
  refuse.never("unsupported-csi-plugin", task.CSIPluginConfig !== null, "CSIPluginConfig", "a csi_plugin block", r);
  refuse.never("unsupported-kind", task.Kind !== "", "Kind", `the task kind ${JSON.stringify(task.Kind)}`, r);
  const res = task.Resources;
  refuse.never("unsupported-device", (res?.Devices?.length ?? 0) > 0, "Resources.Devices", "a device block", r);
  refuse.never("unsupported-numa", (res?.NUMA ?? null) !== null, "Resources.NUMA", "a numa block", r);
  const oldNetwork = (res?.Networks?.length ?? 0) > 0;
  refuse.never(
    "unsupported-task-network",
    oldNetwork,
    "Resources.Networks",
    "a network block in resources (put it into the group)",
    r,
  );
  refuse.optional("cores", (res?.Cores ?? 0) > 0, "Resources.Cores", "reserving cores", r);
  refuse.optional("template", (task.Templates?.length ?? 0) > 0, "Templates", "a template block", r);
  refuse.optional("artifact", (task.Artifacts?.length ?? 0) > 0, "Artifacts", "an artifact block", r);
  refuse.parts("template", task.Templates, o.judges?.template, (i) => r.at(`Templates[${i}]`, `template ${i + 1}`));
  refuse.parts("artifact", task.Artifacts, o.judges?.artifact, (i) => r.at(`Artifacts[${i}]`, `artifact ${i + 1}`));
  refuse.optional("action", (task.Actions?.length ?? 0) > 0, "Actions", "an action block", r);
  refuse.optional("dispatch-payload", task.DispatchPayload !== null, "DispatchPayload", "a dispatch_payload block", r);
  const own = task.Identity;
  const signed = (task.Identities?.length ?? 0) > 0 || own?.Env === true || own?.File === true;
  refuse.optional("identity", signed, "Identities", "an identity block", r);
  refuse.optional("scaling", (task.ScalingPolicies?.length ?? 0) > 0, "ScalingPolicies", "a scaling block", r);
  refuseServices(task.Services, o, refuse, r);
}

function refuseGroup(group: TaskGroup, o: RefuseOptions, refuse: Refusals, r: Report): void {
  for (const [name, volume] of Object.entries(group.Volumes ?? {})) {
    const at = r.at(`Volumes.${name}`, `volume ${JSON.stringify(name)}`);
    refuse.never("unsupported-csi-volume", volume.Type === "csi", "Type", "a CSI volume", at);
    refuse.optional("host-volume", volume.Type !== "csi", "Type", "a host volume", at);
  }
  refuse.never("unsupported-consul", group.Consul !== null, "Consul", "a consul block", r);
  refuse.optional("scaling", group.Scaling !== null, "Scaling", "a scaling block", r);
  refuseNetworks(group, refuse, r);
  refuseServices(group.Services, o, refuse, r);
  for (const [i, task] of (group.Tasks ?? []).entries()) {
    refuseTask(task, o, refuse, r.at(`Tasks[${i}]`, `task ${JSON.stringify(task.Name)}`));
  }
}

/**
 * What this client cannot honour in a job, each by name: such a job is refused at submit, never run without the part.
 * The job must be complete, as {@link canonicalizeJob} returns it.
 */
export function refuseUnsupported(job: Job, o: RefuseOptions): readonly JobFieldError[] {
  const r = new Report();
  const refuse = new Refusals(o.supported ?? []);
  refuse.optional("multiregion", job.Multiregion !== null, "Multiregion", "a multiregion block", r);
  refuse.optional("periodic", job.Periodic !== null, "Periodic", "a periodic block", r);
  refuse.optional(
    "parameterized",
    job.ParameterizedJob !== null && !job.Dispatched,
    "ParameterizedJob",
    "a parameterized block",
    r,
  );
  for (const [i, group] of (job.TaskGroups ?? []).entries()) {
    refuseGroup(group, o, refuse, r.at(`TaskGroups[${i}]`, `group ${JSON.stringify(group.Name)}`));
  }
  return r.errors;
}
