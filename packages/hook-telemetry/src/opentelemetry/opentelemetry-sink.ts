import type { Counter, Gauge, Histogram, Meter } from "@opentelemetry/api";
import type { MetricsSink } from "../metrics-sink.ts";

/** Options of {@link createOpenTelemetrySink}. @public */
export interface OpenTelemetrySinkOptions {
  /** The meter that makes the instruments. */
  readonly meter: Meter;
}

/**
 * A sink that writes into OpenTelemetry: counters, histograms in ms and gauges under the dotted names, labels as attributes. Single series
 * cannot be removed there. @public
 */
export function createOpenTelemetrySink(
  options: OpenTelemetrySinkOptions,
): MetricsSink & Required<Pick<MetricsSink, "setGauge">> {
  const { meter } = options;
  const counters = instruments<Counter>((name) => meter.createCounter(name));
  const histograms = instruments<Histogram>((name) => meter.createHistogram(name, { unit: "ms" }));
  const gauges = instruments<Gauge>((name) => meter.createGauge(name));
  return {
    incrCounter: (name, value, labels) => counters(name).add(value, labels),
    addSample: (name, ms, labels) => histograms(name).record(ms, labels),
    setGauge: (name, value, labels) => gauges(name).record(value, labels),
  };
}

function instruments<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const instrument = make(name);
    made.set(name, instrument);
    return instrument;
  };
}
