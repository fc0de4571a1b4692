import { make, ServiceStruct, type CheckRestart, type Input, type Service } from "@outrider/nomad-structs";

const S = 1_000_000_000;

/** Names that service texts may use, filled in at submit. */
export interface ServiceNames {
  readonly job: string;
  readonly group: string;
  /** Undefined for a service of the group. */
  readonly task: string | undefined;
  readonly namespace: string;
}

function filled(text: string, names: ServiceNames): string {
  return text
    .replaceAll("${JOB}", names.job)
    .replaceAll("${TASKGROUP}", names.group)
    .replaceAll("${TASK}", names.task ?? "group")
    .replaceAll("${BASE}", [names.job, names.group, ...(names.task === undefined ? [] : [names.task])].join("-"));
}

function checkRestart(given: Input<CheckRestart> | null | undefined): Input<CheckRestart> | null {
  return given === null || given === undefined ? null : { ...given, Grace: given.Grace ?? S };
}

/** A service with Nomad's defaults: name, provider, address mode and names of its checks. */
export function canonicalService(input: Input<Service>, names: ServiceNames): Service {
  const { CheckRestart: inherited, ...own } = input as Input<Service> & { CheckRestart?: Input<CheckRestart> | null };
  const service = make(ServiceStruct, own as Input<Service>);
  const base = [names.job, names.group, ...(names.task === undefined ? [] : [names.task])].join("-");
  service.Name = filled(service.Name === "" ? base : service.Name, names);
  if (names.task !== undefined && service.TaskName === "") service.TaskName = names.task;
  if (service.AddressMode === "") service.AddressMode = "auto";
  if (service.Provider === "") service.Provider = "consul";
  if (service.Cluster === "") service.Cluster = "default";
  if (service.OnUpdate === "") service.OnUpdate = "require_healthy";
  if (service.Provider === "nomad") service.Namespace = names.namespace;
  service.Checks =
    service.Checks?.map((check, i) => {
      const given = input.Checks?.[i]?.CheckRestart ?? inherited;
      const restart = checkRestart(given);
      const { Advertise: _advertise, ...kept } = check as typeof check & { Advertise?: unknown };
      return {
        ...kept,
        Name: check.Name === "" ? `service: ${JSON.stringify(service.Name)} check` : filled(check.Name, names),
        OnUpdate: check.OnUpdate === "" ? service.OnUpdate : check.OnUpdate,
        CheckRestart: restart === null ? null : { Limit: 0, Grace: S, IgnoreWarnings: false, ...noNulls(restart) },
      };
    }) ?? null;
  return service;
}

function noNulls(value: Input<CheckRestart>): Partial<CheckRestart> {
  return Object.fromEntries(Object.entries(value).filter(([, x]) => x !== null && x !== undefined));
}
