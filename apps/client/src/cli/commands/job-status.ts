import { parseCron } from "@outrider/cron-schedule";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { deploymentText } from "../deployment-text.ts";
import { findJob } from "../find-one.ts";
import { ago, columns, instant, keyValues, printable, shortId, until } from "../format.ts";
import type { ParsedFlags } from "../go-flags.ts";
import type { ApiClient } from "../api-client.ts";
import { placementFailure } from "../placement-failure.ts";
import type { AllocView, DeploymentView, EvaluationView, JobListView, JobSummaryView, JobView } from "../views.ts";

const typeOf = (job: JobListView): string =>
  `${job.Type ?? ""}${job.Periodic ? "/periodic" : ""}${job.ParameterizedJob ? "/parameterized" : ""}`;
const statusOf = (job: { Status?: string | null | undefined; Stop?: boolean | null | undefined }): string =>
  `${job.Status ?? ""}${job.Stop ? " (stopped)" : ""}`;

function list(jobs: readonly JobListView[], namespaces: boolean): string {
  if (jobs.length === 0) return "No running jobs";
  const rows = jobs.map((job) => [
    job.ID,
    ...(namespaces ? [job.Namespace ?? "default"] : []),
    typeOf(job),
    String(job.Priority ?? 0),
    statusOf(job),
    instant(job.SubmitTime ?? 0),
  ]);
  return columns([["ID", ...(namespaces ? ["Namespace"] : []), "Type", "Priority", "Status", "Submit Date"], ...rows]);
}

function nextLaunch(job: JobView, nowMs: number): string | undefined {
  const specs = job.Periodic?.Specs?.length ? job.Periodic.Specs : job.Periodic?.Spec ? [job.Periodic.Spec] : [];
  const times = specs.flatMap((spec) => {
    try {
      const next = parseCron(spec, { timezone: job.Periodic?.TimeZone || "UTC" }).next(nowMs);
      return next === null ? [] : [next.getTime()];
    } catch {
      return []; // a real server may take what we cannot read; the line is left out then
    }
  });
  if (times.length === 0) return undefined;
  const at = Math.min(...times);
  return `${instant(at * 1e6)} (${until(at, nowMs)})`;
}

function basics(job: JobView, nowMs: number): string {
  const launch = job.Periodic ? nextLaunch(job, nowMs) : undefined;
  return keyValues([
    ["ID", job.ID],
    ["Name", job.Name ?? ""],
    ["Submit Date", instant(job.SubmitTime ?? 0)],
    ["Type", job.Type ?? ""],
    ["Priority", String(job.Priority ?? 0)],
    ["Datacenters", (job.Datacenters ?? []).join(",")],
    ["Namespace", job.Namespace ?? "default"],
    ["Node Pool", job.NodePool ?? "default"],
    ["Status", statusOf(job)],
    ["Periodic", String(Boolean(job.Periodic))],
    ["Parameterized", String(Boolean(job.ParameterizedJob))],
    ...(launch === undefined ? [] : ([["Next Periodic Launch", launch]] as const)),
  ]);
}

function summaryTable(summary: JobSummaryView): string {
  const rows = Object.entries(summary.Summary ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, s]) =>
      [group, s.Queued, s.Starting, s.Running, s.Failed, s.Complete, s.Lost, s.Unknown].map((v) => String(v ?? 0)),
    );
  return `Summary\n${columns([["Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"], ...rows])}`;
}

function childrenTable(
  title: string,
  listTitle: string,
  summary: JobSummaryView,
  children: readonly JobListView[],
): string {
  const c = summary.Children ?? {};
  const counts = columns([
    ["Pending", "Running", "Dead"],
    [String(c.Pending ?? 0), String(c.Running ?? 0), String(c.Dead ?? 0)],
  ]);
  const rows =
    children.length === 0
      ? "No instances"
      : columns([["ID", "Status"], ...children.map((child) => [child.ID, child.Status ?? ""])]);
  return `${title}\n${counts}\n\n${listTitle}\n${rows}`;
}

function evaluationTable(evaluations: readonly EvaluationView[], verbose: boolean): string {
  const rows = evaluations.map((e) => [
    shortId(e.ID, verbose),
    String(e.Priority ?? 0),
    e.TriggeredBy ?? "",
    e.Status ?? "",
    e.Status === "blocked" ? "N/A - In Progress" : String(Object.keys(e.FailedTGAllocs ?? {}).length > 0),
  ]);
  return `Evaluations\n${columns([["ID", "Priority", "Triggered By", "Status", "Placement Failures"], ...rows])}`;
}

/** Failures are told only while something still waits for room. */
function failures(evaluations: readonly EvaluationView[]): string | undefined {
  if (!evaluations.some((e) => e.Status === "blocked")) return undefined;
  const latest = evaluations.find((e) => e.Status === "complete" && Object.keys(e.FailedTGAllocs ?? {}).length > 0);
  if (latest === undefined) return undefined;
  const groups = Object.entries(latest.FailedTGAllocs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return `Placement Failure\n${groups.map(([group, metric]) => [`Task Group ${JSON.stringify(group)}:`, ...placementFailure(metric, "  ")].join("\n")).join("\n")}`;
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
      ...(verbose ? [a.NodeName ?? ""] : []),
      a.TaskGroup ?? "",
      String(a.JobVersion ?? 0),
      a.DesiredStatus ?? "",
      a.ClientStatus ?? "",
      time(a.CreateTime),
      time(a.ModifyTime),
    ]);
  const heading = [
    "ID",
    ...(verbose ? ["Eval ID"] : []),
    "Node ID",
    ...(verbose ? ["Node Name"] : []),
    "Task Group",
    "Version",
    "Desired",
    "Status",
    "Created",
    "Modified",
  ];
  return `Allocations\n${columns([heading, ...rows])}`;
}

async function one(context: CommandContext, flags: ParsedFlags, client: ApiClient, prefix: string): Promise<string> {
  const stub = await findJob(client, prefix);
  const path = `/v1/job/${encodeURIComponent(stub.ID)}`;
  const namespace = stub.Namespace ?? "default";
  const { value: job } = await client.get<JobView>(path, { namespace });
  const verbose = flags.bool("verbose");
  const nowMs = context.clock.now();
  if (flags.bool("short")) return basics(job, nowMs);
  if (job.Periodic || job.ParameterizedJob) {
    const { value: summary } = await client.get<JobSummaryView>(`${path}/summary`, { namespace });
    const kind = job.Periodic ? "periodic" : "dispatch";
    const { value: children } = await client.get<JobListView[]>("/v1/jobs", { prefix: `${stub.ID}/${kind}-` });
    if (job.Periodic)
      return `${basics(job, nowMs)}\n\n${childrenTable("Children Job Summary", "Previously Launched Jobs", summary, children)}`;
    const p = job.ParameterizedJob ?? {};
    const parameters = keyValues([
      ["Payload", p.Payload || "optional"],
      ["Required Metadata", (p.MetaRequired ?? []).join(", ") || "<none>"],
      ["Optional Metadata", (p.MetaOptional ?? []).join(", ") || "<none>"],
    ]);
    return `${basics(job, nowMs)}\n\nParameterized Job\n${parameters}\n\n${childrenTable("Parameterized Job Summary", "Dispatched Jobs", summary, children)}`;
  }
  const { value: allocs } = await client.get<AllocView[]>(`${path}/allocations`, {
    all: flags.bool("all-allocs"),
    namespace,
  });
  const { value: evaluations } = await client.get<EvaluationView[]>(`${path}/evaluations`, { namespace });
  const { value: deployment } = await client.get<DeploymentView | null>(`${path}/deployment`, { namespace });
  const { value: summary } = await client.get<JobSummaryView>(`${path}/summary`, { namespace });
  const newestFirst = [...evaluations].sort((a, b) => (b.CreateIndex ?? 0) - (a.CreateIndex ?? 0));
  const parts = [
    basics(job, nowMs),
    summaryTable(summary),
    flags.bool("evals") || verbose ? evaluationTable(newestFirst, verbose) : undefined,
    failures(newestFirst),
    deployment ? `Latest Deployment\n${deploymentText(deployment, { verbose, withJob: false })}` : undefined,
    allocationTable(allocs, verbose, nowMs),
  ];
  return parts.filter((part) => part !== undefined).join("\n\n");
}

async function whole(client: ApiClient, prefix: string): Promise<Record<string, unknown>> {
  const stub = await findJob(client, prefix);
  const path = `/v1/job/${encodeURIComponent(stub.ID)}`;
  const namespace = stub.Namespace ?? "default";
  const get = async (rest: string, query: Record<string, string | boolean> = {}): Promise<unknown> =>
    (await client.get<unknown>(`${path}${rest}`, { namespace, ...query })).value;
  return {
    Summary: await get("/summary"),
    Allocations: await get("/allocations", { all: false }),
    LatestDeployment: await get("/deployment"),
    Evaluations: await get("/evaluations"),
  };
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (flags.args.length > 1) throw new CommandError("This command takes either no arguments or one: <job>");
  const client = clientOf(context, flags);
  const prefix = flags.args[0];
  if (flags.bool("json")) {
    const value =
      prefix === undefined ? (await client.get<JobListView[]>("/v1/jobs")).value : [await whole(client, prefix)];
    context.stdout.write(`${JSON.stringify(value, null, 4)}\n`);
    return 0;
  }
  const text =
    prefix === undefined
      ? list((await client.get<JobListView[]>("/v1/jobs")).value, client.target.namespace === "*")
      : await one(context, flags, client, prefix);
  context.stdout.write(`${printable(text)}\n`);
  return 0;
}

export const jobStatus: Command = {
  name: "job status",
  synopsis: "List jobs, or show one with its allocations",
  usage: `outrider job status [options] [<job>]

  -short       Only the job's own lines
  -evals       Also its evaluations
  -all-allocs  Also allocations of an earlier job of the same name
  -verbose     Whole ids and absolute times
  -json        As JSON`,
  flags: { short: "bool", evals: "bool", "all-allocs": "bool", verbose: "bool", json: "bool" },
  client: true,
  run,
};
