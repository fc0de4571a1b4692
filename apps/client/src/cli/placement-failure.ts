import type { PlacementFailureView } from "./views.ts";

/** Why a group could not be placed, a line a reason. */
export function placementFailure(metric: PlacementFailureView, indent: string): string[] {
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(`${indent}* ${text}`);
  const each = (map: Record<string, number> | null | undefined, text: (key: string, n: number) => string): void => {
    for (const [key, n] of Object.entries(map ?? {})) say(text(key, n));
  };
  if (!metric.NodesEvaluated) say("No nodes were eligible for evaluation");
  for (const [dc, n] of Object.entries(metric.NodesAvailable ?? {}))
    if (n === 0) say(`No nodes are available in datacenter ${JSON.stringify(dc)}`);
  each(metric.ClassFiltered, (key, n) => `Class ${JSON.stringify(key)}: ${n} nodes excluded by filter`);
  each(metric.ConstraintFiltered, (key, n) => `Constraint ${JSON.stringify(key)}: ${n} nodes excluded by filter`);
  if (metric.NodesExhausted) say(`Resources exhausted on ${metric.NodesExhausted} nodes`);
  each(metric.ClassExhausted, (key, n) => `Class ${JSON.stringify(key)} exhausted on ${n} nodes`);
  each(metric.DimensionExhausted, (key, n) => `Dimension ${JSON.stringify(key)} exhausted on ${n} nodes`);
  for (const quota of metric.QuotaExhausted ?? []) say(`Quota limit hit ${JSON.stringify(quota)}`);
  return lines;
}
