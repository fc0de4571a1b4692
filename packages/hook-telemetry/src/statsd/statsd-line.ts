import type { Labels } from "../metrics-sink.ts";

/** How labels travel: `statsd` appends their values to the name, in order; `dogstatsd` sends them as tags. @public */
export type StatsdDialect = "statsd" | "dogstatsd";

/** The type letter of a line: counter, gauge, timing. @internal */
export type StatsdType = "c" | "g" | "ms";

// What separates parts of a line or a packet must not come from a value.
const part = (text: string): string => text.replaceAll(/[:|\s]/g, "_");
const tag = (text: string): string => text.replaceAll(/[,|\s]/g, "_");

/** The name of a series: with the label values in it for plain StatsD. @internal */
export function statsdName(name: string, labels: Labels, dialect: StatsdDialect): string {
  if (dialect === "dogstatsd") return part(name);
  return [name, ...Object.values(labels)].map(part).join(".");
}

/** Labels as tags, `name:value`. @internal */
export function statsdTags(labels: Labels): string[] {
  return Object.entries(labels).map(([name, value]) => `${part(name)}:${tag(value)}`);
}

/** One line without its newline, for example `nomad.client.alloc_hook.prerun.success.n1.dc1:1.000000|c`. @internal */
export function statsdLine(
  type: StatsdType,
  name: string,
  value: number,
  labels: Labels,
  dialect: StatsdDialect,
): string {
  const head = statsdName(name, labels, dialect);
  if (dialect === "statsd") return `${head}:${value.toFixed(6)}|${type}`;
  const tags = statsdTags(labels);
  return `${head}:${value}|${type}${tags.length === 0 ? "" : `|#${tags.join(",")}`}`;
}
