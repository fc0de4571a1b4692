import { type BodySpec, bool, duration, int, type Part, type Placed, push, str, strings } from "../block-spec.ts";
import { resources, taskLogs } from "./resources.ts";
import { service } from "./service.ts";
import { consul, identity, placementBlocks, restart, scaling, vault } from "./shared.ts";

const changeScript: BodySpec = {
  attributes: {
    command: str("Command"),
    args: strings("Args"),
    timeout: duration("Timeout"),
    fail_on_error: bool("FailOnError"),
    run_on_first_render: bool("RunOnFirstRender"),
  },
  blocks: {},
  zero: () => ({ Command: null, Args: null, Timeout: 5_000_000_000, FailOnError: false, RunOnFirstRender: false }),
};

const wait: BodySpec = {
  attributes: { min: duration("Min"), max: duration("Max") },
  blocks: {},
  zero: () => ({ Min: null, Max: null }),
};

const template: BodySpec = {
  attributes: {
    source: str("SourcePath"),
    destination: str("DestPath"),
    data: str("EmbeddedTmpl"),
    change_mode: str("ChangeMode"),
    change_signal: str("ChangeSignal"),
    once: bool("Once"),
    splay: duration("Splay"),
    perms: str("Perms"),
    uid: int("Uid"),
    gid: int("Gid"),
    left_delimiter: str("LeftDelim"),
    right_delimiter: str("RightDelim"),
    env: bool("Envvars"),
    vault_grace: duration("VaultGrace"),
    error_on_missing_key: bool("ErrMissingKey"),
  },
  blocks: { change_script: { body: changeScript, key: "ChangeScript" }, wait: { body: wait, key: "Wait" } },
  zero: () => ({
    SourcePath: null,
    DestPath: null,
    EmbeddedTmpl: null,
    ChangeMode: "restart",
    ChangeScript: null,
    ChangeSignal: null,
    Once: null,
    Splay: 5_000_000_000,
    Perms: "0644",
    Uid: null,
    Gid: null,
    LeftDelim: null,
    RightDelim: null,
    Envvars: null,
    VaultGrace: null,
    Wait: null,
    ErrMissingKey: false,
  }),
};

const artifact: BodySpec = {
  attributes: {
    source: str("GetterSource"),
    destination: str("RelativeDest"),
    mode: str("GetterMode"),
    insecure: bool("GetterInsecure"),
    chown: bool("Chown"),
  },
  blocks: {},
  maps: { options: "GetterOptions", headers: "GetterHeaders" },
  zero: () => ({
    GetterSource: null,
    GetterOptions: null,
    GetterHeaders: null,
    GetterMode: null,
    GetterInsecure: null,
    RelativeDest: null,
    Chown: false,
  }),
};

const volumeMount: BodySpec = {
  attributes: {
    volume: str("Volume"),
    destination: str("Destination"),
    read_only: bool("ReadOnly"),
    propagation_mode: str("PropagationMode"),
    selinux_label: str("SELinuxLabel"),
  },
  blocks: {},
  zero: () => ({ Volume: null, Destination: null, ReadOnly: null, PropagationMode: null, SELinuxLabel: null }),
};

const lifecycle: BodySpec = {
  attributes: { hook: str("Hook"), sidecar: bool("Sidecar") },
  blocks: {},
  zero: () => ({ Hook: "", Sidecar: false }),
};

const dispatchPayload: BodySpec = { attributes: { file: str("File") }, blocks: {}, zero: () => ({ File: "" }) };

const csiPlugin: BodySpec = {
  attributes: {
    id: str("ID"),
    type: str("Type"),
    mount_dir: str("MountDir"),
    stage_publish_base_dir: str("StagePublishBaseDir"),
    health_timeout: duration("HealthTimeout"),
  },
  blocks: {},
  zero: () => ({ ID: "", Type: "", MountDir: "", StagePublishBaseDir: "", HealthTimeout: 0 }),
};

const action: BodySpec = {
  attributes: { command: str("Command"), args: strings("Args") },
  blocks: {},
  zero: (label) => ({ Name: label ?? "", Command: "", Args: null }),
};

const cron: BodySpec = {
  attributes: { start: str("Start"), end: str("End"), timezone: str("Timezone") },
  blocks: {},
  zero: () => ({ Start: "", End: "", Timezone: "" }),
};

const schedule: BodySpec = {
  attributes: {},
  blocks: { cron: { body: cron, key: "Cron" } },
  zero: () => ({ Cron: null }),
};

const secret: BodySpec = {
  attributes: { provider: str("Provider"), path: str("Path") },
  blocks: { config: { body: "free", key: "Config" } },
  maps: { env: "Env" },
  zero: (label) => ({ Name: label ?? "", Provider: "", Path: "", Config: null, Env: null }),
};

/** An identity without a name, or named "default", is the task's own; others are a list. */
function placeIdentity(task: Part, value: Part, placed: Placed): void {
  if (value["Name"] !== "" && value["Name"] !== "default") push(task, "Identities", value);
  else if (task["Identity"] === null) task["Identity"] = value;
  else placed.fail("Default identity given twice", "Only one identity block may be without a name.");
}

const VERTICAL: Readonly<Record<string, string>> = { cpu: "vertical_cpu", mem: "vertical_mem" };

function placeScaling(task: Part, value: Part, placed: Placed): void {
  const type = VERTICAL[placed.label ?? ""];
  if (type === undefined) {
    placed.fail("Unknown scaling policy", `A task scales "cpu" or "mem", not ${JSON.stringify(placed.label)}.`);
    return;
  }
  if (value["Type"] === "") value["Type"] = type;
  push(task, "ScalingPolicies", value);
}

/** The `task` block. */
export const task: BodySpec = {
  attributes: {
    driver: str("Driver"),
    user: str("User"),
    kill_timeout: duration("KillTimeout"),
    leader: bool("Leader"),
    shutdown_delay: duration("ShutdownDelay"),
    kill_signal: str("KillSignal"),
    kind: str("Kind"),
  },
  blocks: {
    ...placementBlocks,
    config: { body: "free", key: "Config" },
    service: { body: service, key: "Services", many: true },
    resources: { body: resources, key: "Resources" },
    restart: { body: restart, key: "RestartPolicy" },
    logs: { body: taskLogs, key: "LogConfig" },
    artifact: { body: artifact, key: "Artifacts", many: true },
    vault: { body: vault, key: "Vault" },
    consul: { body: consul, key: "Consul" },
    template: { body: template, key: "Templates", many: true },
    dispatch_payload: { body: dispatchPayload, key: "DispatchPayload" },
    lifecycle: { body: lifecycle, key: "Lifecycle" },
    volume_mount: { body: volumeMount, key: "VolumeMounts", many: true },
    csi_plugin: { body: csiPlugin, key: "CSIPluginConfig" },
    identity: { body: identity, put: placeIdentity },
    action: { body: action, key: "Actions", many: true, label: "name" },
    schedule: { body: schedule, key: "Schedule" },
    scaling: { body: scaling, put: placeScaling, label: "name" },
    secret: { body: secret, key: "Secrets", many: true, label: "name" },
  },
  maps: { env: "Env", meta: "Meta" },
  zero: (label) => ({
    Name: label ?? "",
    Driver: "",
    User: "",
    Lifecycle: null,
    Config: null,
    Constraints: null,
    Affinities: null,
    Env: null,
    Services: null,
    Resources: null,
    RestartPolicy: null,
    Meta: null,
    KillTimeout: null,
    LogConfig: null,
    Artifacts: null,
    Vault: null,
    Consul: null,
    Templates: null,
    DispatchPayload: null,
    VolumeMounts: null,
    Leader: false,
    ShutdownDelay: 0,
    KillSignal: "",
    Kind: "",
    ScalingPolicies: null,
    Secrets: null,
    Identity: null,
    Identities: null,
    Actions: null,
    Schedule: null,
  }),
};
