import { formatDuration } from "@outrider/nomad-structs";
import type { ApiClient } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { findNode } from "../find-one.ts";
import { ago, bytes, columns, instant, instantOf, keyValues, orNone, printable, shortId } from "../format.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { listNodes, NODE_LIST_FLAGS } from "../node-list.ts";
import type { AllocView, HostStatsView, NodeView, UsageView } from "../views.ts";

const MIB = 2 ** 20;
const byName = <T>(map: Record<string, T> | null | undefined): [string, T][] =>
  Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

function basics(node: NodeView, stats: HostStatsView | undefined, verbose: boolean): string {
  const drivers = byName(node.Drivers).filter(([, d]) => d.Detected);
  const names = (map: Record<string, unknown> | null | undefined): string =>
    byName(map)
      .map(([name]) => name)
      .join(",") || "<none>";
  return keyValues([
    ["ID", node.ID],
    ["Name", node.Name ?? ""],
    ["Node Pool", node.NodePool ?? "default"],
    ["Class", orNone(node.NodeClass)],
    ["DC", node.Datacenter ?? ""],
    ["Drain", String(node.Drain ?? false)],
    ["Eligibility", node.SchedulingEligibility ?? ""],
    ["Status", node.Status ?? ""],
    ["CSI Controllers", "<none>"],
    ["CSI Drivers", "<none>"],
    ...(stats ? ([["Uptime", formatDuration((stats.Uptime ?? 0) * 1e9)]] as const) : []),
    ...(verbose
      ? []
      : ([
          ["Host Volumes", names(node.HostVolumes)],
          ["Host Networks", names(node.HostNetworks)],
          ["CSI Volumes", "<none>"],
          [
            "Driver Status",
            drivers.map(([name, d]) => (d.Healthy ? name : `${name} (unhealthy)`)).join(",") || "<none>",
          ],
        ] as const)),
  ]);
}

function driverTable(node: NodeView): string {
  const rows = byName(node.Drivers).map(([name, d]) => [
    name,
    String(d.Detected ?? false),
    String(d.Healthy ?? false),
    orNone(d.HealthDescription),
    instantOf(d.UpdateTime),
  ]);
  return `Drivers\n${columns([["Driver", "Detected", "Healthy", "Message", "Time"], ...rows])}`;
}

function eventTable(node: NodeView, verbose: boolean): string {
  const rows = [...(node.Events ?? [])].reverse().map((e) => [
    instantOf(e.Timestamp),
    e.Subsystem ?? "",
    e.Message ?? "",
    ...(verbose
      ? [
          byName(e.Details)
            .map(([k, v]) => `${k} = ${v}`)
            .join(" ") || "<none>",
        ]
      : []),
  ]);
  return `Node Events\n${columns([["Time", "Subsystem", "Message", ...(verbose ? ["Details"] : [])], ...rows])}`;
}

interface Totals {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

const totals = (node: NodeView): Totals => {
  const all = node.NodeResources;
  const kept = node.ReservedResources;
  return {
    cpu: (all?.Cpu?.CpuShares ?? 0) - (kept?.Cpu?.CpuShares ?? 0),
    memory: ((all?.Memory?.MemoryMB ?? 0) - (kept?.Memory?.MemoryMB ?? 0)) * MIB,
    disk: ((all?.Disk?.DiskMB ?? 0) - (kept?.Disk?.DiskMB ?? 0)) * MIB,
  };
};

function allocated(running: readonly AllocView[], total: Totals): string {
  let cpu = 0;
  let memory = 0;
  let disk = 0;
  for (const alloc of running) {
    for (const task of Object.values(alloc.AllocatedResources?.Tasks ?? {})) {
      cpu += task.Cpu?.CpuShares ?? 0;
      memory += (task.Memory?.MemoryMB ?? 0) * MIB;
    }
    disk += (alloc.AllocatedResources?.Shared?.DiskMB ?? 0) * MIB;
  }
  return `Allocated Resources\n${columns([
    ["CPU", "Memory", "Disk", "Alloc Count"],
    [
      `${cpu}/${total.cpu} MHz`,
      `${bytes(memory)}/${bytes(total.memory)}`,
      `${bytes(disk)}/${bytes(total.disk)}`,
      String(running.length),
    ],
  ])}`;
}

function allocationTable(allocs: readonly AllocView[], verbose: boolean, nowMs: number): string {
  if (allocs.length === 0) return "Allocations\nNo allocations placed";
  const time = (ns: number | null | undefined): string => (verbose ? instant(ns ?? 0) : ago(ns ?? 0, nowMs));
  const rows = [...allocs]
    .sort((a, b) => (b.CreateIndex ?? 0) - (a.CreateIndex ?? 0))
    .map((a) => [
      shortId(a.ID, verbose),
      ...(verbose ? [a.EvalID ?? ""] : []),
      shortId(a.NodeID ?? "", verbose),
      a.TaskGroup ?? "",
      String(a.Job?.Version ?? a.JobVersion ?? 0),
      a.DesiredStatus ?? "",
      a.ClientStatus ?? "",
      time(a.CreateTime),
      time(a.ModifyTime),
    ]);
  return `Allocations\n${columns([["ID", ...(verbose ? ["Eval ID"] : []), "Node ID", "Task Group", "Version", "Desired", "Status", "Created", "Modified"], ...rows])}`;
}

function hostDetails(stats: HostStatsView): string[] {
  const percent = (n: number | null | undefined): string => `${(n ?? 0).toFixed(2)}%`;
  const m = stats.Memory ?? {};
  return [
    `CPU Stats\n${(stats.CPU ?? [])
      .map((c) =>
        keyValues([
          ["CPU", c.CPU ?? ""],
          ["User", percent(c.User)],
          ["System", percent(c.System)],
          ["Idle", percent(c.Idle)],
        ]),
      )
      .join("\n\n")}`,
    `Memory Stats\n${keyValues([
      ["Total", bytes(m.Total ?? 0)],
      ["Available", bytes(m.Available ?? 0)],
      ["Used", bytes(m.Used ?? 0)],
      ["Free", bytes(m.Free ?? 0)],
    ])}`,
    `Disk Stats\n${(stats.DiskStats ?? [])
      .map((d) =>
        keyValues([
          ["Device", d.Device ?? ""],
          ["MountPoint", d.Mountpoint ?? ""],
          ["Size", bytes(d.Size ?? 0)],
          ["Used", bytes(d.Used ?? 0)],
          ["Available", bytes(d.Available ?? 0)],
          ["Used Percent", percent(d.UsedPercent)],
          ["Inodes Percent", percent(d.InodesUsedPercent)],
        ]),
      )
      .join("\n\n")}`,
  ];
}

async function utilization(client: ApiClient, running: readonly AllocView[], total: Totals): Promise<string> {
  let ticks = 0;
  let memory = 0;
  for (const alloc of running) {
    // An allocation may end between the list and this call: it then uses nothing.
    const usage = await client.get<UsageView>(`/v1/client/allocation/${alloc.ID}/stats`).then(
      ({ value }) => value.ResourceUsage,
      () => undefined,
    );
    ticks += usage?.CpuStats?.TotalTicks ?? 0;
    const stats = usage?.MemoryStats;
    memory += ((stats?.Measured ?? []).includes("Usage") ? stats?.Usage : stats?.RSS) ?? 0;
  }
  return `Allocation Resource Utilization\n${columns([
    ["CPU", "Memory"],
    [`${Math.floor(ticks)}/${total.cpu} MHz`, `${bytes(memory)}/${bytes(total.memory)}`],
  ])}`;
}

async function one(context: CommandContext, flags: ParsedFlags, client: ApiClient, prefix: string): Promise<string> {
  const stub = await findNode(client, prefix);
  const { value: node } = await client.get<NodeView>(`/v1/node/${stub.ID}`);
  if (flags.bool("json")) return JSON.stringify(node, null, 4);
  const verbose = flags.bool("verbose");
  const nowMs = context.clock.now();
  const { value: allocs } = await client.get<AllocView[]>(`/v1/node/${stub.ID}/allocations`);
  const stats = await client.get<HostStatsView>("/v1/client/stats", { node_id: stub.ID }).then(
    ({ value }) => value,
    () => undefined,
  );
  const parts: (string | undefined)[] = [basics(node, stats, verbose)];
  if (!flags.bool("short")) {
    const total = totals(node);
    const running = allocs.filter((a) => a.ClientStatus === "running");
    parts.push(verbose ? driverTable(node) : undefined, eventTable(node, verbose), allocated(running, total));
    if (stats) {
      parts.push(await utilization(client, running, total));
      const disk = (stats.DiskStats ?? [])[0];
      parts.push(
        `Host Resource Utilization\n${columns([
          ["CPU", "Memory", "Disk"],
          [
            `${Math.floor(stats.CPUTicksConsumed ?? 0)}/${total.cpu} MHz`,
            `${bytes(stats.Memory?.Used ?? 0)}/${bytes(stats.Memory?.Total ?? 0)}`,
            disk ? `${bytes(disk.Used ?? 0)}/${bytes(disk.Size ?? 0)}` : "",
          ],
        ])}`,
      );
      if (flags.bool("stats")) parts.push(...hostDetails(stats));
    }
  }
  parts.push(allocationTable(allocs, verbose, nowMs));
  if (verbose)
    parts.push(
      `Attributes\n${keyValues(byName(node.Attributes))}`,
      `Meta\n${byName(node.Meta).length === 0 ? "<none>" : keyValues(byName(node.Meta))}`,
    );
  return parts.filter((part) => part !== undefined).join("\n\n");
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (flags.args.length > 1) throw new CommandError("This command takes either no arguments or one: <node>");
  const client = clientOf(context, flags);
  let prefix = flags.args[0];
  if (flags.bool("self") && prefix === undefined) {
    const { value } = await client.get<{ stats?: { client?: { node_id?: string } } }>("/v1/agent/self");
    prefix = value.stats?.client?.node_id;
    if (!prefix) throw new CommandError("The agent is not a client node");
  }
  const text = prefix === undefined ? await listNodes(client, flags) : await one(context, flags, client, prefix);
  context.stdout.write(`${printable(text)}\n`);
  return 0;
}

export const nodeStatus: Command = {
  name: "node status",
  synopsis: "List nodes, or show one with its resources and allocations",
  usage: `outrider node status [options] [<node>]

  -self     The node of the agent that is asked
  -allocs   In a list: how many allocations run
  -stats    The host's CPU, memory and disks in full
  -short    Without events and resources
  -os       In a list: ask for the operating system too
  -verbose  Whole ids, absolute times, attributes
  -json     As JSON

Of lists only:
  -quiet               The ids, one a line
  -filter <expression> Those that match
  -per-page <n>        So many
  -page-token <token>  The next ones, with the token that the former page told`,
  flags: { ...NODE_LIST_FLAGS, self: "bool", stats: "bool", short: "bool", verbose: "bool", json: "bool" },
  client: true,
  run,
};
