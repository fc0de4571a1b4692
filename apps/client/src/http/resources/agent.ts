import { HostStatsStruct, encode, formatDuration } from "@outrider/nomad-structs";
import type { ApiContext } from "../api-context.ts";
import { change, json, type ApiResult, type Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import { NOMAD_VERSION } from "../../node/index.ts";
import { nodeHandlers } from "./client-allocation.ts";
import { notSupported } from "./unsupported.ts";

/** Port by which the server is named where a name is needed; nothing listens there. */
const RPC_PORT = 4647;
const SERF_PORT = 4648;

/** `/v1/agent/…`, `/v1/status/…`, `/v1/client/stats` and other things that the agent tells of itself. */
export function agentResources(context: ApiContext): Resource[] {
  return [
    { path: "/v1/agent/self", methods: { GET: () => json(self(context)) } },
    { path: "/v1/agent/health", methods: { GET: (request) => health(context, request.params.all("type")) } },
    {
      path: "/v1/agent/members",
      methods: {
        GET: () =>
          json({
            ServerName: context.agent().name,
            ServerRegion: context.agent().region,
            ServerDC: context.agent().datacenter,
            Members: [member(context)],
          }),
      },
    },
    { path: "/v1/agent/servers", methods: { GET: () => json([rpcAddress(context)]) } },
    { path: "/v1/status/leader", methods: { GET: () => json(rpcAddress(context)) } },
    { path: "/v1/status/peers", methods: { GET: () => json([rpcAddress(context)]) } },
    { path: "/v1/regions", methods: { GET: () => json([context.agent().region]) } },
    { path: "/v1/namespaces", methods: { GET: () => ({ kind: "json", value: [DEFAULT_NAMESPACE], index: 1 }) } },
    {
      path: "/v1/namespace/:name",
      methods: {
        GET: (request) => {
          if (request.path["name"] !== "default") throw new HttpError(404, "Namespace not found");
          return { kind: "json", value: DEFAULT_NAMESPACE, index: 1 };
        },
      },
    },
    {
      path: "/v1/client/stats",
      methods: { GET: async () => json(encode(HostStatsStruct, await nodeHandlers(context).hostStats())) },
    },
    {
      path: "/v1/client/metadata",
      methods: {
        GET: () => json(metadata(context)),
        ...change(() => {
          throw notSupported("changing metadata while the agent runs");
        }),
      },
    },
    {
      path: "/v1/client/gc",
      methods: change(async () => {
        await nodeHandlers(context).collectGarbage();
        return { kind: "empty" };
      }),
    },
    {
      path: "/v1/system/gc",
      methods: change(async () => {
        await context.server.collectGarbage();
        return { kind: "empty" };
      }),
    },
    // Nothing to reconcile: counts of jobs are kept with every change.
    { path: "/v1/system/reconcile/summaries", methods: change(() => ({ kind: "empty" })) },
  ];
}

const DEFAULT_NAMESPACE = {
  Name: "default",
  Description: "Default shared namespace",
  Quota: "",
  Capabilities: null,
  NodePoolConfiguration: null,
  VaultConfiguration: null,
  ConsulConfiguration: null,
  Meta: null,
  Hash: "C7UbjDwBK0dK8wQq7Izg7SJIzaV+lIo2X7wRtzY3pSw=",
  CreateIndex: 1,
  ModifyIndex: 1,
  RequiredExtraClaims: null,
  OptionalExtraClaims: null,
};

function hostOf(context: ApiContext): string {
  const address = context.agent().httpAddress;
  const at = address.lastIndexOf(":");
  return address.startsWith("unix:") || at === -1 ? "127.0.0.1" : address.slice(0, at);
}

function rpcAddress(context: ApiContext): string {
  return `${hostOf(context)}:${RPC_PORT}`;
}

function member(context: ApiContext): Record<string, unknown> {
  const { name, region, datacenter, serverId } = context.agent();
  const host = hostOf(context);
  return {
    Name: `${name}.${region}`,
    Addr: host,
    Port: SERF_PORT,
    Tags: {
      role: "nomad",
      region,
      dc: datacenter,
      id: serverId,
      build: NOMAD_VERSION,
      bootstrap: "1",
      expect: "1",
      vsn: "1",
      raft_vsn: "3",
      revision: "",
      rpc_addr: host,
      port: String(RPC_PORT),
    },
    Status: "alive",
    ProtocolMin: 1,
    ProtocolMax: 5,
    ProtocolCur: 2,
    DelegateMin: 2,
    DelegateMax: 5,
    DelegateCur: 4,
  };
}

function self(context: ApiContext): Record<string, unknown> {
  const agent = context.agent();
  const node = context.node();
  const index = String(context.server.state.index);
  const since = (ms: number): string => formatDuration(Math.max(0, ms) * 1_000_000);
  return {
    config: {
      Region: agent.region,
      Datacenter: agent.datacenter,
      NodeName: agent.name,
      Version: { BuildDate: null, Revision: "", Version: NOMAD_VERSION, VersionMetadata: "", VersionPrerelease: "" },
      Outrider: { Version: agent.version },
      Ports: { HTTP: agent.httpPort, RPC: RPC_PORT, Serf: SERF_PORT },
      UI: {
        Enabled: false,
        ShowCLIHints: false,
        Consul: { BaseUIURL: "" },
        Vault: { BaseUIURL: "" },
        Label: { BackgroundColor: "", Text: "", TextColor: "" },
      },
      ACL: { Enabled: false },
    },
    member: member(context),
    stats: {
      nomad: {
        server: "true",
        leader: "true",
        bootstrap: "true",
        leader_addr: rpcAddress(context),
        known_regions: "1",
      },
      raft: {
        state: "Leader",
        applied_index: index,
        commit_index: index,
        last_log_index: index,
        num_peers: "0",
        last_contact: "0",
      },
      serf: { members: "1", failed: "0", left: "0" },
      runtime: {
        version: process.version,
        cpu_count: node?.node.Attributes?.["cpu.numcores"] ?? "1",
        "kernel.name": process.platform,
        arch: node?.node.Attributes?.["cpu.arch"] ?? process.arch,
      },
      ...(node === undefined
        ? {}
        : {
            client: {
              node_id: node.node.ID,
              known_servers: rpcAddress(context),
              num_allocations: String(node.counts().allocations),
              last_heartbeat: since(context.clock.now() - node.heartbeat.lastMs),
              heartbeat_ttl: since(node.heartbeat.ttlMs),
            },
          }),
    },
  };
}

function health(context: ApiContext, types: readonly string[]): ApiResult {
  const all = types.length === 0 || (types.length === 1 && types[0] === "");
  const ready = context.node() !== undefined;
  const parts: Record<string, { ok: boolean; message: string }> = {};
  if (all || types.includes("client"))
    parts["client"] = ready ? { ok: true, message: "ok" } : { ok: false, message: "no known servers" };
  if (all || types.includes("server")) parts["server"] = { ok: true, message: "ok" };
  const ok = Object.values(parts).every((part) => part.ok);
  return ok ? json(parts) : { kind: "json", value: parts, status: 500 };
}

function metadata(context: ApiContext): Record<string, unknown> {
  const meta = context.node()?.node.Meta ?? {};
  return { Meta: meta, Dynamic: null, Static: meta };
}
