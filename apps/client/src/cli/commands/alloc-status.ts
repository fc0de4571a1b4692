import { formatDuration } from "@outrider/nomad-structs";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { findAlloc } from "../find-one.ts";
import { ago, bytes, columns, instant, instantOf, keyValues, orNone, printable, shortId } from "../format.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { placementFailure } from "../placement-failure.ts";
import type { AllocView, PortView, TaskStateView, UsageView } from "../views.ts";

interface CheckView {
  Service?: string;
  Task?: string;
  Check?: string;
  Mode?: string;
  Status?: string;
}

interface View {
  readonly alloc: AllocView;
  readonly usage: UsageView | undefined;
  readonly checks: readonly CheckView[];
  readonly verbose: boolean;
  readonly stats: boolean;
  readonly nowMs: number;
}

const lifecycleOf = (alloc: AllocView, task: string): string => {
  const group = (alloc.Job?.TaskGroups ?? []).find((g) => g.Name === alloc.TaskGroup);
  const lifecycle = (group?.Tasks ?? []).find((t) => t.Name === task)?.Lifecycle;
  if (!lifecycle?.Hook) return "main";
  return lifecycle.Sidecar ? `${lifecycle.Hook} sidecar` : lifecycle.Hook;
};

const time = (view: View, ns: number | null | undefined): string =>
  view.verbose ? instant(ns ?? 0) : ago(ns ?? 0, view.nowMs);

function basics(view: View): string {
  const { alloc, verbose } = view;
  const health = alloc.DeploymentStatus?.Healthy;
  const metrics = alloc.Metrics;
  return keyValues([
    ["ID", alloc.ID],
    ["Eval ID", shortId(alloc.EvalID ?? "", verbose)],
    ["Name", alloc.Name ?? ""],
    ["Node ID", shortId(alloc.NodeID ?? "", verbose)],
    ["Node Name", alloc.NodeName ?? ""],
    ["Job ID", alloc.JobID ?? ""],
    ["Job Version", String(alloc.Job?.Version ?? alloc.JobVersion ?? 0)],
    ["Client Status", alloc.ClientStatus ?? ""],
    ["Client Description", orNone(alloc.ClientDescription)],
    ["Desired Status", alloc.DesiredStatus ?? ""],
    ["Desired Description", orNone(alloc.DesiredDescription)],
    ["Created", time(view, alloc.CreateTime)],
    ["Modified", time(view, alloc.ModifyTime)],
    ...(alloc.DeploymentID
      ? ([
          ["Deployment ID", shortId(alloc.DeploymentID, verbose)],
          ["Deployment Health", health === true ? "healthy" : health === false ? "unhealthy" : "unset"],
          ...(alloc.DeploymentStatus?.Canary ? ([["Canary", "true"]] as const) : []),
        ] as const)
      : []),
    ...(alloc.NextAllocation ? ([["Replacement Alloc ID", shortId(alloc.NextAllocation, verbose)]] as const) : []),
    ...(alloc.FollowupEvalID ? ([["Reschedule Evaluation", shortId(alloc.FollowupEvalID, verbose)]] as const) : []),
    ...(verbose && metrics
      ? ([
          ["Evaluated Nodes", String(metrics.NodesEvaluated ?? 0)],
          ["Filtered Nodes", String(metrics.NodesFiltered ?? 0)],
          ["Exhausted Nodes", String(metrics.NodesExhausted ?? 0)],
          ["Allocation Time", formatDuration(metrics.AllocationTime ?? 0)],
          ["Failures", String(metrics.CoalescedFailures ?? 0)],
        ] as const)
      : []),
  ]);
}

function addresses(alloc: AllocView): string | undefined {
  const shared = alloc.AllocatedResources?.Shared;
  const ports = shared?.Ports ?? [];
  if (ports.length === 0) return undefined;
  const dynamic = new Set(
    (shared?.Networks ?? []).flatMap((network) => (network.DynamicPorts ?? []).map((p) => p.Label)),
  );
  const address = (p: PortView): string => `${p.HostIP ?? ""}:${p.Value}${p.To && p.To > 0 ? ` -> ${p.To}` : ""}`;
  return `Allocation Addresses:\n${columns([["Label", "Dynamic", "Address"], ...ports.map((p) => [`*${p.Label}`, dynamic.has(p.Label) ? "yes" : "no", address(p)])])}`;
}

function checkTable(checks: readonly CheckView[]): string | undefined {
  if (checks.length === 0) return undefined;
  const rows = checks.map((c) => [
    c.Service ?? "",
    c.Task ? c.Task : "(group)",
    c.Check ?? "",
    c.Mode ?? "",
    c.Status ?? "",
  ]);
  return `Nomad Service Checks:\n${columns([["Service", "Task", "Name", "Mode", "Status"], ...rows.sort((a, b) => (a.join() < b.join() ? -1 : 1))])}`;
}

function resources(view: View, task: string): string {
  const { alloc, usage } = view;
  const asked = alloc.AllocatedResources?.Tasks?.[task];
  const last = usage?.Tasks?.[task]?.ResourceUsage;
  // An agent remembers the last figures of a task that has ended or is paused, but nothing is used any more.
  const used = last && alloc.TaskStates?.[task]?.State !== "running" ? {} : last;
  const memory = used?.MemoryStats;
  const measured = (memory?.Measured ?? []).includes("Usage") ? memory?.Usage : memory?.RSS;
  const cpu = `${Math.floor(used?.CpuStats?.TotalTicks ?? 0)}/${asked?.Cpu?.CpuShares ?? 0} MHz`;
  const limit = bytes((asked?.Memory?.MemoryMB ?? 0) * 2 ** 20);
  const most = asked?.Memory?.MemoryMaxMB ? ` Max: ${bytes(asked.Memory.MemoryMaxMB * 2 ** 20)}` : "";
  const disk = bytes((alloc.AllocatedResources?.Shared?.DiskMB ?? 0) * 2 ** 20);
  const text = `Task Resources:\n${columns([
    ["CPU", "Memory", "Disk", "Addresses"],
    [
      used ? cpu : cpu.slice(cpu.indexOf("/") + 1),
      `${used ? `${bytes(measured ?? 0)}/` : ""}${limit}${most}`,
      disk,
      "",
    ],
  ])}`;
  if (!view.stats || !used) return text;
  const percent = (n: number | null | undefined): string => `${(n ?? 0).toFixed(2)}%`;
  return `${text}\n\nMemory Stats\n${columns([
    ["RSS", "Swap"],
    [bytes(memory?.RSS ?? 0), bytes(memory?.Swap ?? 0)],
  ])}\n\nCPU Stats\n${columns([
    ["Percent", "System Mode", "User Mode"],
    [percent(used.CpuStats?.Percent), percent(used.CpuStats?.SystemMode), percent(used.CpuStats?.UserMode)],
  ])}`;
}

function task(view: View, name: string, state: TaskStateView): string {
  const lifecycle = lifecycleOf(view.alloc, name);
  const paused = state.Paused ? ` (${state.Paused})` : "";
  const events = [...(state.Events ?? [])].reverse();
  const history = keyValues([
    ["Started At", instantOf(state.StartedAt)],
    ["Finished At", instantOf(state.FinishedAt)],
    ["Total Restarts", String(state.Restarts ?? 0)],
    ["Last Restart", instantOf(state.LastRestart)],
  ]);
  return [
    `Task ${JSON.stringify(name)}${lifecycle === "main" ? "" : ` (${lifecycle})`} is ${JSON.stringify(state.State ?? "")}${paused}`,
    `${resources(view, name)}\n`,
    `Task Events:\n${history}\n`,
    `Recent Events:\n${columns([["Time", "Type", "Description"], ...events.map((e) => [instant(e.Time ?? 0), e.Type ?? "", e.DisplayMessage || e.Message || ""])])}`,
  ].join("\n");
}

function placement(view: View): string | undefined {
  const metric = view.alloc.Metrics;
  if (!view.verbose || !metric) return undefined;
  const scores = metric.ScoreMetaData ?? [];
  if (scores.length === 0) return `Placement Metrics\n${placementFailure(metric, "  ").join("\n")}`;
  const names = Object.keys(scores[0]?.Scores ?? {}).sort();
  const score = (n: number | null | undefined): string => String(Number((n ?? 0).toPrecision(3)));
  return `Placement Metrics\n${columns([["Node", ...names, "final score"], ...scores.map((s) => [s.NodeID, ...names.map((n) => score(s.Scores?.[n])), score(s.NormScore)])])}`;
}

function short(view: View): string {
  const { alloc } = view;
  const head = keyValues([
    ["ID", alloc.ID],
    ["Name", alloc.Name ?? ""],
    ["Created", time(view, alloc.CreateTime)],
    ["Modified", time(view, alloc.ModifyTime)],
  ]);
  const rows = Object.entries(alloc.TaskStates ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, state]) => {
      const last = (state.Events ?? []).at(-1);
      return [name, state.State ?? "", last?.Type ?? "", instant(last?.Time ?? 0), lifecycleOf(alloc, name)];
    });
  return `${head}\n\nTasks\n${columns([["Name", "State", "Last Event", "Time", "Lifecycle"], ...rows])}`;
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (flags.args.length > 1) throw new CommandError("This command takes either no arguments or one: <allocation>");
  const client = clientOf(context, flags);
  const id = flags.args[0];
  if (id === undefined) {
    const { value } = await client.get<AllocView[]>("/v1/allocations");
    if (flags.bool("json")) context.stdout.write(`${JSON.stringify(value, null, 4)}\n`);
    else
      context.stdout.write(
        value.length === 0
          ? "No allocations\n"
          : `${value.map((a) => `${shortId(a.ID)}  ${a.Name ?? ""}  ${a.ClientStatus ?? ""}`).join("\n")}\n`,
      );
    return 0;
  }
  const alloc = await findAlloc(client, id);
  if (flags.bool("json")) {
    context.stdout.write(`${JSON.stringify(alloc, null, 4)}\n`);
    return 0;
  }
  let usage: UsageView | undefined;
  let checks: CheckView[] = [];
  const base = { alloc, verbose: flags.bool("verbose"), stats: flags.bool("stats"), nowMs: context.clock.now() };
  if (!flags.bool("short")) {
    // Both are extras: an agent that has none of them still shows the allocation.
    checks = await client.get<Record<string, CheckView> | null>(`/v1/client/allocation/${alloc.ID}/checks`).then(
      ({ value }) => Object.values(value ?? {}),
      () => [],
    );
    usage = await client.get<UsageView>(`/v1/client/allocation/${alloc.ID}/stats`).then(
      ({ value }) => value,
      () => undefined,
    );
  }
  const view: View = { ...base, usage, checks };
  const parts = flags.bool("short")
    ? [short(view)]
    : [
        basics(view),
        addresses(alloc),
        checkTable(checks),
        ...Object.entries(alloc.TaskStates ?? {})
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, state]) => task(view, name, state)),
        placement(view),
      ];
  context.stdout.write(`${printable(parts.filter((part) => part !== undefined).join("\n\n"))}\n`);
  return 0;
}

export const allocStatus: Command = {
  name: "alloc status",
  synopsis: "Show an allocation, its tasks and their events",
  usage: `outrider alloc status [options] <allocation>

  -short     Only the tasks and their last event
  -stats     Memory and CPU of each task in full
  -verbose   Whole ids, absolute times, placement scores
  -json      The allocation as JSON`,
  flags: { short: "bool", stats: "bool", verbose: "bool", json: "bool" },
  client: true,
  run,
};
