import type { Labels } from "@outrider/hook-telemetry";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** Type of the text format. */
export const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

const QUANTILES = [0.5, 0.9, 0.99] as const;

/** The registry in Prometheus' text format. Names and label names are made legal; families have one type. */
export function toPrometheus(registry: MetricsRegistry): string {
  const { counters, gauges, samples } = registry.totals();
  const families = new Map<string, { readonly type: string; readonly lines: string[] }>();
  const family = (name: string, type: string): string[] => {
    const known = families.get(name);
    if (known !== undefined) return known.type === type ? known.lines : [];
    const lines: string[] = [];
    families.set(name, { type, lines });
    return lines;
  };
  for (const { name, labels, value } of gauges)
    family(legalName(name), "gauge").push(`${legalName(name)}${labelText(labels)} ${number(value)}`);
  for (const { name, labels, total } of counters)
    family(legalName(name), "counter").push(`${legalName(name)}${labelText(labels)} ${number(total)}`);
  for (const { name, labels, total, count, recent } of samples) {
    const legal = legalName(name);
    const lines = family(legal, "summary");
    const ordered = [...recent].sort((a, b) => a - b);
    for (const quantile of QUANTILES)
      lines.push(
        `${legal}${labelText({ ...labels, quantile: String(quantile) })} ${number(quantileOf(ordered, quantile))}`,
      );
    lines.push(`${legal}_sum${labelText(labels)} ${number(total)}`, `${legal}_count${labelText(labels)} ${count}`);
  }
  const names = [...families.keys()].sort();
  return names
    .map(
      (name) =>
        `# HELP ${name} ${name}\n# TYPE ${name} ${families.get(name)?.type ?? "untyped"}\n${families.get(name)?.lines.join("\n") ?? ""}\n`,
    )
    .join("");
}

function quantileOf(ordered: readonly number[], quantile: number): number {
  if (ordered.length === 0) return Number.NaN;
  return ordered[Math.min(ordered.length - 1, Math.ceil(quantile * ordered.length) - 1)] as number;
}

function number(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function legalName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_");
}

function labelText(labels: Labels): string {
  const seen = new Map<string, string>();
  for (const [name, value] of Object.entries(labels))
    seen.set(name.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_"), value);
  const parts = [...seen]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
    );
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}
