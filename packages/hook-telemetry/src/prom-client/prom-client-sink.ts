import { Counter, Gauge, Histogram, register as defaultRegister, Summary, type Registry } from "prom-client";
import type { Labels, MetricsSink } from "../metrics-sink.ts";
import { promLabelNames, promMetricName } from "./prom-names.ts";

/** Window of the summaries, seconds. @public */
export const SUMMARY_WINDOW_S = 10;

/** Options of {@link createPromClientSink}. @public */
export interface PromClientSinkOptions {
  /** Where the metrics are registered. Default: prom-client's global registry. */
  readonly register?: Registry | undefined;
  /** How samples are kept: Nomad's summaries (quantiles 0.5, 0.9, 0.99 over 10 s), or histograms, which can be summed over machines. Default `summary`. */
  readonly samples?: "summary" | "histogram" | undefined;
  /** Bucket bounds of the histograms, ms. */
  readonly buckets?: number[] | undefined;
  /**
   * Label names that every metric has besides those of its first datapoint. A Prometheus family has one fixed set of names: a name that comes
   * later is left out and told once; one that is missing is empty.
   */
  readonly labelNames?: readonly string[] | undefined;
  /** Told once for each label that had to be left out of a metric. */
  readonly onDroppedLabel?: ((metric: string, label: string) => void) | undefined;
}

interface Series {
  readonly raw: Labels;
  readonly remove: () => void;
  /** Sets, adds or observes. */
  readonly write: (value: number) => void;
}

type Kind = "counter" | "sample" | "gauge";
type Metric = Counter | Gauge | Summary | Histogram;

/** One metric family with its series. */
class Family {
  readonly #metric: Metric;
  readonly #names: ReadonlyMap<string, string>;
  readonly #onDropped: (label: string) => void;
  readonly #series = new Map<string, Series>();
  readonly #told = new Set<string>();
  /** The same series has the same label object: found without building a key. */
  #byIdentity = new WeakMap<Labels, Series>();

  constructor(metric: Metric, names: ReadonlyMap<string, string>, onDropped: (label: string) => void) {
    this.#metric = metric;
    this.#names = names;
    this.#onDropped = onDropped;
  }

  series(labels: Labels): Series {
    const known = this.#byIdentity.get(labels);
    if (known !== undefined) return known;
    const safe = this.#safe(labels);
    const key = JSON.stringify(Object.values(safe));
    const series = this.#series.get(key) ?? this.#make(safe, labels);
    this.#series.set(key, series);
    this.#byIdentity.set(labels, series);
    return series;
  }

  remove(labels: Labels): void {
    for (const [key, series] of this.#series) {
      if (!Object.entries(labels).every(([name, value]) => series.raw[name] === value)) continue;
      series.remove();
      this.#series.delete(key);
      this.#byIdentity = new WeakMap();
    }
  }

  #safe(labels: Labels): Record<string, string> {
    // Not by assignment: "__proto__" is a legal label name.
    const safe = Object.fromEntries(
      [...this.#names].map(([raw, name]) => [name, Object.hasOwn(labels, raw) ? (labels[raw] as string) : ""]),
    );
    for (const name of Object.keys(labels)) {
      if (this.#names.has(name) || this.#told.has(name)) continue;
      this.#told.add(name);
      this.#onDropped(name);
    }
    return safe;
  }

  #make(safe: Record<string, string>, raw: Labels): Series {
    const metric = this.#metric;
    const remove = (): void => metric.remove(safe);
    if (metric instanceof Counter) {
      const child = metric.labels(safe);
      return { raw, remove, write: (value) => child.inc(value) };
    }
    if (metric instanceof Gauge) {
      const child = metric.labels(safe);
      return { raw, remove, write: (value) => child.set(value) };
    }
    const child = metric.labels(safe);
    return { raw, remove, write: (value) => child.observe(value) };
  }
}

/** A sink that writes into prom-client under Nomad's Prometheus names: `nomad_client_alloc_hook_prerun_elapsed`, no `_total`. @public */
export function createPromClientSink(options: PromClientSinkOptions = {}): Required<MetricsSink> {
  const { register = defaultRegister, samples = "summary", buckets, labelNames = [], onDroppedLabel } = options;
  const families = new Map<string, Family>();

  const make = (kind: Kind, name: string, labels: Labels): Family => {
    const safeName = promMetricName(name);
    const names = promLabelNames([...labelNames, ...Object.keys(labels)]);
    const config = { name: safeName, help: safeName, labelNames: [...names.values()], registers: [register] };
    // Another sink of the same registry may have made it.
    const existing = register.getSingleMetric(safeName) as Metric | undefined;
    const metric = existing ?? makeMetric(kind, samples, config, buckets);
    const family = new Family(metric, names, (label) => onDroppedLabel?.(safeName, label));
    families.set(name, family);
    return family;
  };
  const write = (kind: Kind, name: string, value: number, labels: Labels): void =>
    (families.get(name) ?? make(kind, name, labels)).series(labels).write(value);

  return {
    incrCounter: (name, value, labels) => write("counter", name, value, labels),
    addSample: (name, ms, labels) => write("sample", name, ms, labels),
    setGauge: (name, value, labels) => write("gauge", name, value, labels),
    remove: (labels) => {
      for (const family of families.values()) family.remove(labels);
    },
  };
}

function makeMetric(
  kind: Kind,
  samples: "summary" | "histogram",
  config: { name: string; help: string; labelNames: string[]; registers: Registry[] },
  buckets: number[] | undefined,
): Metric {
  if (kind === "counter") return new Counter(config);
  if (kind === "gauge") return new Gauge(config);
  if (samples === "histogram") return new Histogram(buckets === undefined ? config : { ...config, buckets });
  return new Summary({ ...config, percentiles: [0.5, 0.9, 0.99], maxAgeSeconds: SUMMARY_WINDOW_S, ageBuckets: 5 });
}
