import type { MetricsSink } from "../metrics-sink.ts";
import { statsdName, statsdTags, type StatsdDialect } from "./statsd-line.ts";

/** The part of a hot-shots client (or one like it) that is used. @public */
export interface StatsdClient {
  increment(stat: string, value: number, tags?: string[]): void;
  timing(stat: string, value: number, tags?: string[]): void;
  gauge(stat: string, value: number, tags?: string[]): void;
}

/** Options of {@link createHotShotsSink}. @public */
export interface HotShotsSinkOptions {
  readonly client: StatsdClient;
  /** Default `dogstatsd`: labels as tags. `statsd` appends their values to the name. */
  readonly dialect?: StatsdDialect | undefined;
}

/** A sink over a client that the program has already; who made the client closes it. @public */
export function createHotShotsSink(
  options: HotShotsSinkOptions,
): MetricsSink & Required<Pick<MetricsSink, "setGauge">> {
  const { client, dialect = "dogstatsd" } = options;
  const to = (method: "increment" | "timing" | "gauge"): MetricsSink["incrCounter"] =>
    dialect === "dogstatsd"
      ? (name, value, labels) => client[method](statsdName(name, labels, dialect), value, statsdTags(labels))
      : (name, value, labels) => client[method](statsdName(name, labels, dialect), value);
  return { incrCounter: to("increment"), addSample: to("timing"), setGauge: to("gauge") };
}
