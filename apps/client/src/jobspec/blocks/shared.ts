import {
  type BodySpec,
  bool,
  duration,
  int,
  intWithin,
  type NestedSpec,
  type Part,
  type Placed,
  push,
  str,
  strings,
} from "../block-spec.ts";

/** Operators of constraints that may be written as an attribute of their own, in the order in which they win. */
const SHORTHANDS = [
  "version",
  "semver",
  "regexp",
  "distinct_property",
  "distinct_hosts",
  "set_contains",
  "set_contains_all",
  "set_contains_any",
  "not_set_contains",
] as const;

/** Temporary keys start with a character that no real key has. */
const HIDDEN = "$";

function foldOperator(part: Part): void {
  for (const name of SHORTHANDS) {
    const value = part[HIDDEN + name];
    delete part[HIDDEN + name];
    if (value === undefined) continue;
    if (name === "distinct_hosts") {
      if (value === false) continue;
      part["Operand"] = name;
      part["RTarget"] = "true";
    } else if (name === "distinct_property") {
      part["Operand"] = name;
      part["LTarget"] = value;
    } else {
      part["Operand"] = name;
      part["RTarget"] = value;
    }
  }
  part["Operand"] ??= "=";
}

const shorthandAttributes = Object.fromEntries(
  SHORTHANDS.map((name) => [name, name === "distinct_hosts" ? bool(HIDDEN + name) : str(HIDDEN + name)]),
);

export const constraint: BodySpec = {
  attributes: { attribute: str("LTarget"), operator: str("Operand"), value: str("RTarget"), ...shorthandAttributes },
  blocks: {},
  zero: () => ({ LTarget: "", RTarget: "", Operand: null }),
  finish: foldOperator,
};

export const affinity: BodySpec = {
  attributes: { ...constraint.attributes, weight: intWithin("Weight", -100, 100) },
  blocks: {},
  zero: () => ({ LTarget: "", RTarget: "", Operand: null, Weight: null }),
  finish: foldOperator,
};

const spreadTarget: BodySpec = {
  attributes: { percent: intWithin("Percent", 0, 100) },
  blocks: {},
  zero: (label) => ({ Value: label ?? "", Percent: 0 }),
};

export const spread: BodySpec = {
  attributes: { attribute: str("Attribute"), weight: intWithin("Weight", 0, 100) },
  blocks: { target: { body: spreadTarget, key: "SpreadTarget", many: true, label: "value" } },
  zero: () => ({ Attribute: "", Weight: null, SpreadTarget: null }),
};

export const restart: BodySpec = {
  attributes: {
    attempts: int("Attempts"),
    interval: duration("Interval"),
    delay: duration("Delay"),
    mode: str("Mode"),
    render_templates: bool("RenderTemplates"),
  },
  blocks: {},
  zero: () => ({ Interval: null, Attempts: null, Delay: null, Mode: null, RenderTemplates: null }),
};

export const reschedule: BodySpec = {
  attributes: {
    attempts: int("Attempts"),
    interval: duration("Interval"),
    delay: duration("Delay"),
    delay_function: str("DelayFunction"),
    max_delay: duration("MaxDelay"),
    unlimited: bool("Unlimited"),
  },
  blocks: {},
  zero: () => ({
    Attempts: null,
    Interval: null,
    Delay: null,
    DelayFunction: null,
    MaxDelay: null,
    Unlimited: null,
  }),
};

export const update: BodySpec = {
  attributes: {
    stagger: duration("Stagger"),
    max_parallel: int("MaxParallel"),
    health_check: str("HealthCheck"),
    min_healthy_time: duration("MinHealthyTime"),
    healthy_deadline: duration("HealthyDeadline"),
    progress_deadline: duration("ProgressDeadline"),
    canary: int("Canary"),
    auto_revert: bool("AutoRevert"),
    auto_promote: bool("AutoPromote"),
  },
  blocks: {},
  zero: () => ({
    Stagger: null,
    MaxParallel: null,
    HealthCheck: null,
    MinHealthyTime: null,
    HealthyDeadline: null,
    ProgressDeadline: null,
    Canary: null,
    AutoRevert: null,
    AutoPromote: null,
  }),
};

export const migrate: BodySpec = {
  attributes: {
    max_parallel: int("MaxParallel"),
    health_check: str("HealthCheck"),
    min_healthy_time: duration("MinHealthyTime"),
    healthy_deadline: duration("HealthyDeadline"),
  },
  blocks: {},
  zero: () => ({ MaxParallel: null, HealthCheck: null, MinHealthyTime: null, HealthyDeadline: null }),
};

export const scaling: BodySpec = {
  attributes: { enabled: bool("Enabled"), min: int("Min"), max: int("Max"), type: str("Type") },
  blocks: { policy: { body: "free", key: "Policy" } },
  zero: () => ({
    Min: null,
    Max: null,
    Policy: null,
    Enabled: null,
    Type: "",
    ID: "",
    Namespace: "",
    Target: null,
    CreateIndex: 0,
    ModifyIndex: 0,
  }),
};

export const vault: BodySpec = {
  attributes: {
    policies: strings("Policies"),
    role: str("Role"),
    namespace: str("Namespace"),
    cluster: str("Cluster"),
    env: bool("Env"),
    disable_file: bool("DisableFile"),
    change_mode: str("ChangeMode"),
    change_signal: str("ChangeSignal"),
    allow_token_expiration: bool("AllowTokenExpiration"),
  },
  blocks: {},
  zero: () => ({
    Policies: null,
    Role: "",
    Namespace: null,
    Cluster: "",
    Env: true,
    DisableFile: false,
    ChangeMode: "restart",
    ChangeSignal: null,
    AllowTokenExpiration: null,
  }),
};

export const consul: BodySpec = {
  attributes: { namespace: str("Namespace"), cluster: str("Cluster"), partition: str("Partition") },
  blocks: {},
  zero: () => ({ Namespace: "", Cluster: "", Partition: "" }),
};

export const identity: BodySpec = {
  attributes: {
    name: str("Name"),
    aud: strings("Audience"),
    change_mode: str("ChangeMode"),
    change_signal: str("ChangeSignal"),
    env: bool("Env"),
    file: bool("File"),
    filepath: str("Filepath"),
    service_name: str("ServiceName"),
    ttl: duration("TTL"),
  },
  blocks: {},
  maps: { extra_claims: "ExtraClaims" },
  zero: () => ({
    Name: "",
    Audience: null,
    ChangeMode: "",
    ChangeSignal: "",
    Env: false,
    File: false,
    Filepath: "",
    ServiceName: "",
    TTL: 0,
    ExtraClaims: null,
  }),
};

const port: BodySpec = {
  attributes: {
    static: int("Value"),
    to: int("To"),
    host_network: str("HostNetwork"),
    ignore_collision: bool("IgnoreCollision"),
  },
  blocks: {},
  zero: (label) => ({ Label: label ?? "", Value: 0, To: 0, HostNetwork: "", IgnoreCollision: false }),
};

function placePort(network: Part, value: Part, placed: Placed): void {
  const lists = [network["ReservedPorts"], network["DynamicPorts"]] as (Part[] | null)[];
  if (lists.some((list) => list?.some((other) => other["Label"] === value["Label"]))) {
    placed.fail("Port label used twice", `The network has two ports with the label "${String(value["Label"])}".`);
    return;
  }
  push(network, value["Value"] === 0 ? "DynamicPorts" : "ReservedPorts", value);
}

const dns: BodySpec = {
  attributes: { servers: strings("Servers"), searches: strings("Searches"), options: strings("Options") },
  blocks: {},
  zero: () => ({ Servers: null, Searches: null, Options: null }),
};

const cni: BodySpec = { attributes: {}, blocks: {}, maps: { args: "Args" }, zero: () => ({ Args: null }) };

export const network: BodySpec = {
  attributes: {
    mode: str("Mode"),
    device: str("Device"),
    cidr: str("CIDR"),
    ip: str("IP"),
    hostname: str("Hostname"),
    mbits: int("MBits"),
  },
  blocks: {
    port: { body: port, label: "label", put: placePort },
    dns: { body: dns, key: "DNS" },
    cni: { body: cni, key: "CNI" },
  },
  zero: () => ({
    Mode: "",
    Device: "",
    CIDR: "",
    IP: "",
    DNS: null,
    ReservedPorts: null,
    DynamicPorts: null,
    Hostname: "",
    MBits: null,
    CNI: null,
  }),
};

/** Blocks that jobs, groups and tasks share. */
export const placementBlocks: Readonly<Record<string, NestedSpec>> = {
  constraint: { body: constraint, key: "Constraints", many: true },
  affinity: { body: affinity, key: "Affinities", many: true },
};
