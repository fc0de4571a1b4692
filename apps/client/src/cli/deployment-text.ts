import { columns, instantOf, keyValues, shortId } from "./format.ts";
import type { DeploymentView } from "./views.ts";

/** The head and the table of a deployment, as `job run` and `job status` show it. */
export function deploymentText(deployment: DeploymentView, o: { verbose: boolean; withJob: boolean }): string {
  const head = keyValues([
    ["ID", shortId(deployment.ID, o.verbose)],
    ...(o.withJob
      ? ([
          ["Job ID", deployment.JobID],
          ["Job Version", String(deployment.JobVersion ?? 0)],
        ] as const)
      : []),
    ["Status", deployment.Status ?? ""],
    ["Description", deployment.StatusDescription ?? ""],
  ]);
  const groups = Object.entries(deployment.TaskGroups ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const revert = groups.some(([, g]) => g.AutoRevert);
  const canaries = groups.some(([, g]) => g.DesiredCanaries);
  const heading = [
    "Task Group",
    ...(revert ? ["Auto Revert"] : []),
    ...(canaries ? ["Promoted"] : []),
    "Desired",
    ...(canaries ? ["Canaries"] : []),
    "Placed",
    "Healthy",
    "Unhealthy",
    "Progress Deadline",
  ];
  const rows = groups.map(([name, g]) => [
    name,
    ...(revert ? [String(g.AutoRevert ?? false)] : []),
    ...(canaries ? [g.DesiredCanaries ? String(g.Promoted ?? false) : "N/A"] : []),
    String(g.DesiredTotal ?? 0),
    ...(canaries ? [g.DesiredCanaries ? String(g.DesiredCanaries) : "N/A"] : []),
    String(g.PlacedAllocs ?? 0),
    String(g.HealthyAllocs ?? 0),
    String(g.UnhealthyAllocs ?? 0),
    instantOf(g.RequireProgressBy),
  ]);
  return `${head}\n\nDeployed\n${columns([heading, ...rows])}`;
}
