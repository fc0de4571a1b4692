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
  const at = (kind: MemorySeries["kind"], name: string, labels: Labels): Mutable => {
    const key = `${kind} ${name} ${JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    const made: Mutable = { kind, name, labels, value: 0, count: 0 };
    all.set(key, made);
    return made;
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
    },
    series: () => [...all.values()].map((series) => ({ ...series })),
    value: (name, labels = {}) => [...all.values()].find((s) => s.name === name && carries(s.labels, labels))?.value,
  };
}

const carries = (labels: Labels, wanted: Labels): boolean =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);
