import { type BodySpec, bool, duration, int, type Part, type Placed, push, str, strings } from "../block-spec.ts";
import { service } from "./service.ts";
import {
  consul,
  migrate,
  network,
  placementBlocks,
  reschedule,
  restart,
  scaling,
  spread,
  update,
  vault,
} from "./shared.ts";
import { task } from "./task.ts";

/** Holds the vault block of a group or job until its tasks are known; no key of Nomad starts so. */
const VAULT = "$vault";

const ephemeralDisk: BodySpec = {
  attributes: { sticky: bool("Sticky"), migrate: bool("Migrate"), size: int("SizeMB") },
  blocks: {},
  zero: () => ({ Sticky: null, Migrate: null, SizeMB: null }),
};

const disconnect: BodySpec = {
  attributes: {
    lost_after: duration("LostAfter"),
    stop_on_client_after: duration("StopOnClientAfter"),
    replace: bool("Replace"),
    reconcile: str("Reconcile"),
  },
  blocks: {},
  zero: () => ({ LostAfter: null, StopOnClientAfter: null, Replace: null, Reconcile: null }),
};

const mountOptions: BodySpec = {
  attributes: { fs_type: str("FSType"), mount_flags: strings("MountFlags") },
  blocks: {},
  zero: () => ({ FSType: "", MountFlags: null }),
};

const volume: BodySpec = {
  attributes: {
    type: str("Type"),
    source: str("Source"),
    read_only: bool("ReadOnly"),
    sticky: bool("Sticky"),
    access_mode: str("AccessMode"),
    attachment_mode: str("AttachmentMode"),
    per_alloc: bool("PerAlloc"),
  },
  blocks: { mount_options: { body: mountOptions, key: "MountOptions" } },
  zero: (label) => ({
    Name: label ?? "",
    Type: "",
    Source: "",
    ReadOnly: false,
    Sticky: false,
    AccessMode: "",
    AttachmentMode: "",
    MountOptions: null,
    PerAlloc: false,
  }),
};

function placeVolume(group: Part, value: Part, placed: Placed): void {
  const volumes = (group["Volumes"] ??= {}) as Record<string, Part>;
  const name = String(value["Name"]);
  if (name === "__proto__") placed.fail("Invalid volume name", "A volume cannot have this name.");
  else if (Object.hasOwn(volumes, name))
    placed.fail("Volume given twice", `The group has two volumes named "${name}".`);
  else volumes[name] = value;
}

/** Tasks without a vault block of their own get that of their group or job. */
function spreadVault(tasks: readonly Part[], given: unknown): void {
  if (given === null || given === undefined) return;
  for (const one of tasks) one["Vault"] ??= { ...(given as Part) };
}

const tasksOf = (group: Part): Part[] => (group["Tasks"] ?? []) as Part[];

const group: BodySpec = {
  attributes: {
    count: int("Count"),
    shutdown_delay: duration("ShutdownDelay"),
    max_run_duration: duration("MaxRunDuration"),
    stop_after_client_disconnect: duration("StopAfterClientDisconnect"),
    max_client_disconnect: duration("MaxClientDisconnect"),
    prevent_reschedule_on_lost: bool("PreventRescheduleOnLost"),
  },
  blocks: {
    ...placementBlocks,
    spread: { body: spread, key: "Spreads", many: true },
    network: { body: network, key: "Networks", many: true },
    service: { body: service, key: "Services", many: true },
    restart: { body: restart, key: "RestartPolicy" },
    reschedule: { body: reschedule, key: "ReschedulePolicy" },
    update: { body: update, key: "Update" },
    migrate: { body: migrate, key: "Migrate" },
    ephemeral_disk: { body: ephemeralDisk, key: "EphemeralDisk" },
    disconnect: { body: disconnect, key: "Disconnect" },
    volume: { body: volume, put: placeVolume, label: "name" },
    task: { body: task, key: "Tasks", many: true, label: "name" },
    scaling: { body: scaling, key: "Scaling" },
    consul: { body: consul, key: "Consul" },
    vault: { body: vault, key: VAULT },
  },
  maps: { meta: "Meta" },
  zero: (label) => ({
    Name: label ?? "",
    Count: null,
    Constraints: null,
    Affinities: null,
    Tasks: null,
    Spreads: null,
    Volumes: null,
    RestartPolicy: null,
    Disconnect: null,
    ReschedulePolicy: null,
    EphemeralDisk: null,
    Update: null,
    Migrate: null,
    Networks: null,
    Meta: null,
    Services: null,
    ShutdownDelay: null,
    MaxRunDuration: null,
    StopAfterClientDisconnect: null,
    MaxClientDisconnect: null,
    Scaling: null,
    Consul: null,
    PreventRescheduleOnLost: null,
  }),
  finish(part) {
    spreadVault(tasksOf(part), part[VAULT]);
    delete part[VAULT];
    const policy = part["Scaling"] as Part | null;
    if (policy !== null && policy["Type"] === "") policy["Type"] = "horizontal";
  },
};

const periodic: BodySpec = {
  attributes: {
    enabled: bool("Enabled"),
    cron: str("Spec"),
    crons: strings("Specs"),
    prohibit_overlap: bool("ProhibitOverlap"),
    time_zone: str("TimeZone"),
  },
  blocks: {},
  zero: () => ({ Enabled: null, Spec: null, Specs: null, SpecType: null, ProhibitOverlap: null, TimeZone: null }),
  finish(part, placed) {
    if (part["Spec"] !== null && part["Specs"] !== null) {
      const where = placed.attributeRange("crons");
      placed.fail("cron and crons given", "A periodic block has one cron or a list of crons, not both.", where);
    }
    if (part["Spec"] !== null || part["Specs"] !== null) part["SpecType"] = "cron";
  },
};

const parameterized: BodySpec = {
  attributes: {
    payload: str("Payload"),
    meta_required: strings("MetaRequired"),
    meta_optional: strings("MetaOptional"),
  },
  blocks: {},
  zero: () => ({ Payload: "", MetaRequired: null, MetaOptional: null }),
};

const region: BodySpec = {
  attributes: { count: int("Count"), datacenters: strings("Datacenters"), node_pool: str("NodePool") },
  blocks: {},
  maps: { meta: "Meta" },
  zero: (label) => ({ Name: label ?? "", Count: null, Datacenters: null, NodePool: "", Meta: null }),
};

const multiregion: BodySpec = {
  attributes: {},
  blocks: {
    strategy: {
      body: {
        attributes: { max_parallel: int("MaxParallel"), on_failure: str("OnFailure") },
        blocks: {},
        zero: () => ({ MaxParallel: null, OnFailure: null }),
      },
      key: "Strategy",
    },
    region: { body: region, key: "Regions", many: true, label: "name" },
  },
  zero: () => ({ Strategy: null, Regions: null }),
};

const ui: BodySpec = {
  attributes: { description: str("Description") },
  blocks: {
    link: {
      body: { attributes: { label: str("Label"), url: str("URL") }, blocks: {}, zero: () => ({ Label: "", URL: "" }) },
      key: "Links",
      many: true,
    },
  },
  zero: () => ({ Description: "", Links: null }),
};

/** A task directly below the job makes a group of its name. */
function placeLoneTask(job: Part, value: Part): void {
  push(job, "$loneGroups", { ...group.zero(String(value["Name"])), Tasks: [value] });
}

/** The `job` block. */
export const job: BodySpec = {
  attributes: {
    id: str("ID"),
    name: str("Name"),
    region: str("Region"),
    namespace: str("Namespace"),
    node_pool: str("NodePool"),
    type: str("Type"),
    priority: int("Priority"),
    all_at_once: bool("AllAtOnce"),
    datacenters: strings("Datacenters"),
  },
  blocks: {
    ...placementBlocks,
    spread: { body: spread, key: "Spreads", many: true },
    group: { body: group, key: "TaskGroups", many: true, label: "name" },
    task: { body: task, put: placeLoneTask, label: "name" },
    update: { body: update, key: "Update" },
    reschedule: { body: reschedule, key: "Reschedule" },
    migrate: { body: migrate, key: "Migrate" },
    periodic: { body: periodic, key: "Periodic" },
    parameterized: { body: parameterized, key: "ParameterizedJob" },
    multiregion: { body: multiregion, key: "Multiregion" },
    vault: { body: vault, key: VAULT },
    ui: { body: ui, key: "UI" },
  },
  maps: { meta: "Meta" },
  zero: (label) => ({
    Region: null,
    Namespace: null,
    ID: label ?? "",
    Name: label ?? "",
    Type: null,
    Priority: null,
    AllAtOnce: null,
    Datacenters: null,
    NodePool: null,
    Constraints: null,
    Affinities: null,
    TaskGroups: null,
    Update: null,
    Multiregion: null,
    Spreads: null,
    Periodic: null,
    ParameterizedJob: null,
    Reschedule: null,
    Migrate: null,
    Meta: null,
    UI: null,
    Stop: null,
    ParentID: null,
    Dispatched: false,
    DispatchIdempotencyToken: null,
    Payload: null,
    ConsulNamespace: null,
    VaultNamespace: null,
    NomadTokenID: null,
    Status: null,
    StatusDescription: null,
    Stable: null,
    Version: null,
    SubmitTime: null,
    CreateIndex: null,
    ModifyIndex: null,
    JobModifyIndex: null,
    VersionTag: null,
  }),
  finish(part) {
    const lone = (part["$loneGroups"] ?? []) as Part[];
    delete part["$loneGroups"];
    for (const one of lone) push(part, "TaskGroups", one);
    for (const one of (part["TaskGroups"] ?? []) as Part[]) spreadVault(tasksOf(one), part[VAULT]);
    delete part[VAULT];
  },
};
