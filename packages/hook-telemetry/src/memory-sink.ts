import type { Labels, MetricsSink } from "./metrics-sink.ts";

/** One series of a {@link MemorySink}. @public */
export interface MemorySeries {
  readonly kind: "counter" | "sample" | "gauge";
  readonly name: string;
  readonly labels: Labels;
  /** Counter: the sum. Sample: the sum of observations. Gauge: the last value. */
  readonly value: number;
  /** Number of calls. */
  readonly count: number;
}

/** A sink that keeps totals in memory. @public */
export interface MemorySink extends Required<MetricsSink> {
  /** All series in order of first use. */
  series(): MemorySeries[];
  /** One value: of the first series of that name that carries all these labels, or `undefined`. */
  value(name: string, labels?: Labels): number | undefined;
}

type Mutable = { -readonly [K in keyof MemorySeries]: MemorySeries[K] };

/** Makes a sink for tests and for programs that show their own figures. @public */
export function createMemorySink(): MemorySink {
  const all = new Map<string, Mutable>();
  // The same series has the same label object: found without building a key.
  let byIdentity = new WeakMap<Labels, Map<string, Mutable>>();
  const find = (kind: MemorySeries["kind"], name: string, labels: Labels): Mutable => {
    const key = `${kind} ${name} ${JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
    const series: Mutable = all.get(key) ?? { kind, name, labels, value: 0, count: 0 };
    all.set(key, series);
    return series;
  };
  const at = (kind: MemorySeries["kind"], name: string, labels: Labels): Mutable => {
    const names = byIdentity.get(labels) ?? new Map<string, Mutable>();
    const known = names.get(name);
    if (known?.kind === kind) return known;
    const series = find(kind, name, labels);
    byIdentity.set(labels, names.set(name, series));
    return series;
  };
  const add = (kind: MemorySeries["kind"], name: string, value: number, labels: Labels): void => {
    const series = at(kind, name, labels);
    series.value = kind === "gauge" ? value : series.value + value;
    series.count++;
  };
  return {
    incrCounter: (name, value, labels) => add("counter", name, value, labels),
    addSample: (name, ms, labels) => add("sample", name, ms, labels),
    setGauge: (name, value, labels) => add("gauge", name, value, labels),
    remove: (labels) => {
      for (const [key, series] of all) if (carries(series.labels, labels)) all.delete(key);
      byIdentity = new WeakMap();
    },
    series: () => [...all.values()].map((series) => ({ ...series })),
    value: (name, labels = {}) => [...all.values()].find((s) => s.name === name && carries(s.labels, labels))?.value,
  };
}

const carries = (labels: Labels, wanted: Labels): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);
