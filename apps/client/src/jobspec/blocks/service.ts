import { type BodySpec, bool, duration, int, str, stringMap, strings } from "../block-spec.ts";
import { identity } from "./shared.ts";
import { resources, taskLogs } from "./resources.ts";

const checkRestart: BodySpec = {
  attributes: { limit: int("Limit"), grace: duration("Grace"), ignore_warnings: bool("IgnoreWarnings") },
  blocks: {},
  zero: () => ({ Limit: 0, Grace: null, IgnoreWarnings: false }),
};

const check: BodySpec = {
  attributes: {
    name: str("Name"),
    type: str("Type"),
    command: str("Command"),
    args: strings("Args"),
    path: str("Path"),
    protocol: str("Protocol"),
    port: str("PortLabel"),
    expose: bool("Expose"),
    address_mode: str("AddressMode"),
    advertise: str("Advertise"),
    interval: duration("Interval"),
    timeout: duration("Timeout"),
    initial_status: str("InitialStatus"),
    notes: str("Notes"),
    tls_server_name: str("TLSServerName"),
    tls_skip_verify: bool("TLSSkipVerify"),
    method: str("Method"),
    grpc_service: str("GRPCService"),
    grpc_use_tls: bool("GRPCUseTLS"),
    task: str("TaskName"),
    success_before_passing: int("SuccessBeforePassing"),
    failures_before_critical: int("FailuresBeforeCritical"),
    failures_before_warning: int("FailuresBeforeWarning"),
    body: str("Body"),
    on_update: str("OnUpdate"),
  },
  blocks: {
    header: { body: "string-lists", key: "Header" },
    check_restart: { body: checkRestart, key: "CheckRestart" },
  },
  zero: () => ({
    Name: "",
    Type: "",
    Command: "",
    Args: null,
    Path: "",
    Protocol: "",
    PortLabel: "",
    Expose: false,
    AddressMode: "",
    Advertise: "",
    Interval: 0,
    Timeout: 0,
    InitialStatus: "",
    Notes: "",
    TLSServerName: "",
    TLSSkipVerify: false,
    Header: null,
    Method: "",
    CheckRestart: null,
    GRPCService: "",
    GRPCUseTLS: false,
    TaskName: "",
    SuccessBeforePassing: 0,
    FailuresBeforeCritical: 0,
    FailuresBeforeWarning: 0,
    Body: "",
    OnUpdate: "",
  }),
};

const weights: BodySpec = {
  attributes: { passing: int("Passing"), warning: int("Warning") },
  blocks: {},
  zero: () => ({ Passing: 1, Warning: 1 }),
};

const upstream: BodySpec = {
  attributes: {
    destination_name: str("DestinationName"),
    destination_namespace: str("DestinationNamespace"),
    destination_peer: str("DestinationPeer"),
    destination_partition: str("DestinationPartition"),
    destination_type: str("DestinationType"),
    local_bind_port: int("LocalBindPort"),
    datacenter: str("Datacenter"),
    local_bind_address: str("LocalBindAddress"),
    local_bind_socket_path: str("LocalBindSocketPath"),
    local_bind_socket_mode: str("LocalBindSocketMode"),
  },
  blocks: { mesh_gateway: { body: "free", key: "MeshGateway" }, config: { body: "free", key: "Config" } },
  zero: () => ({
    DestinationName: "",
    DestinationNamespace: "",
    DestinationPeer: "",
    DestinationPartition: "",
    DestinationType: "",
    LocalBindPort: 0,
    Datacenter: "",
    LocalBindAddress: "",
    LocalBindSocketPath: "",
    LocalBindSocketMode: "",
    MeshGateway: null,
    Config: null,
  }),
};

const proxy: BodySpec = {
  attributes: { local_service_address: str("LocalServiceAddress"), local_service_port: int("LocalServicePort") },
  blocks: {
    upstreams: { body: upstream, key: "Upstreams", many: true },
    expose: { body: "free", key: "Expose" },
    transparent_proxy: { body: "free", key: "TransparentProxy" },
    config: { body: "free", key: "Config" },
  },
  zero: () => ({
    LocalServiceAddress: "",
    LocalServicePort: 0,
    Expose: null,
    ExposeConfig: null,
    Upstreams: null,
    TransparentProxy: null,
    Config: null,
  }),
};

const sidecarService: BodySpec = {
  attributes: {
    tags: strings("Tags"),
    port: str("Port"),
    disable_default_tcp_check: bool("DisableDefaultTCPCheck"),
  },
  blocks: { proxy: { body: proxy, key: "Proxy" } },
  maps: { meta: "Meta" },
  zero: () => ({ Tags: null, Port: "", Proxy: null, DisableDefaultTCPCheck: false, Meta: null }),
};

const sidecarTask: BodySpec = {
  attributes: {
    name: str("Name"),
    driver: str("Driver"),
    user: str("User"),
    kill_timeout: duration("KillTimeout"),
    shutdown_delay: duration("ShutdownDelay"),
    kill_signal: str("KillSignal"),
  },
  blocks: {
    config: { body: "free", key: "Config" },
    resources: { body: resources, key: "Resources" },
    logs: { body: taskLogs, key: "LogConfig" },
    volume_mount: { body: "free", key: "VolumeMounts", many: true },
    identity: { body: identity, key: "Identities", many: true },
  },
  maps: { env: "Env", meta: "Meta" },
  zero: () => ({
    Name: "",
    Driver: "",
    User: "",
    Config: null,
    Env: null,
    Resources: null,
    Meta: null,
    KillTimeout: null,
    LogConfig: null,
    ShutdownDelay: null,
    KillSignal: "",
    VolumeMounts: null,
    Identities: null,
  }),
};

const connect: BodySpec = {
  attributes: { native: bool("Native") },
  blocks: {
    gateway: { body: "free", key: "Gateway" },
    sidecar_service: { body: sidecarService, key: "SidecarService" },
    sidecar_task: { body: sidecarTask, key: "SidecarTask" },
  },
  zero: () => ({ Native: false, Gateway: null, SidecarService: null, SidecarTask: null }),
};

/** The `service` block of groups and tasks. */
export const service: BodySpec = {
  attributes: {
    name: str("Name"),
    tags: strings("Tags"),
    canary_tags: strings("CanaryTags"),
    enable_tag_override: bool("EnableTagOverride"),
    port: str("PortLabel"),
    address_mode: str("AddressMode"),
    address: str("Address"),
    tagged_addresses: stringMap("TaggedAddresses"),
    task: str("TaskName"),
    on_update: str("OnUpdate"),
    provider: str("Provider"),
    cluster: str("Cluster"),
    kind: str("Kind"),
  },
  blocks: {
    check: { body: check, key: "Checks", many: true },
    check_restart: { body: checkRestart, key: "CheckRestart" },
    connect: { body: connect, key: "Connect" },
    identity: { body: identity, key: "Identity" },
    weights: { body: weights, key: "Weights" },
  },
  maps: { meta: "Meta", canary_meta: "CanaryMeta" },
  zero: () => ({
    Name: "",
    Tags: null,
    CanaryTags: null,
    EnableTagOverride: false,
    PortLabel: "",
    AddressMode: "",
    Address: "",
    Checks: null,
    CheckRestart: null,
    Connect: null,
    Meta: null,
    CanaryMeta: null,
    TaggedAddresses: null,
    TaskName: "",
    OnUpdate: "",
    Identity: null,
    Weights: null,
    Provider: "",
    Cluster: "",
    Kind: "",
  }),
};
