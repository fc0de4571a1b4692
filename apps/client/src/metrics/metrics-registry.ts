import type { Labels, MetricsSink } from "@outrider/hook-telemetry";
import type { Clock } from "@outrider/backoff";
import { emptyAggregate, observe, seriesKey, stddev, type Aggregate, type Series } from "./series.ts";

/** Length of one interval of the JSON view, ms. */
export const INTERVAL_MS = 10_000;
/** A series that was not touched for so long is gone, and begins anew when it is touched again, ms. */
export const EXPIRY_MS = 60_000;
/** Most series that are kept; more are dropped and counted, so that no label can eat the memory. */
export const MAX_SERIES = 20_000;
/** Values of a sample that are kept for quantiles. */
const MAX_WINDOW = 512;

interface KeptSeries extends Series {
  touchedMs: number;
}

interface CounterSeries extends KeptSeries {
  total: number;
  current: Aggregate;
  finished: Aggregate | undefined;
}

interface SampleSeries extends CounterSeries {
  totalCount: number;
  window: Array<{ readonly atMs: number; readonly value: number }>;
}

interface GaugeSeries extends KeptSeries {
  value: number;
}

/** An entry of `Counters` and `Samples`. */
export interface SampledValue {
  readonly Name: string;
  readonly Count: number;
  readonly Rate: number;
  readonly Sum: number;
  readonly Min: number;
  readonly Max: number;
  readonly Mean: number;
  readonly Stddev: number;
  readonly Labels: Labels;
}

/** Body of `/v1/metrics`. */
export interface MetricsSnapshot {
  readonly Timestamp: string;
  readonly Gauges: ReadonlyArray<{ readonly Name: string; readonly Value: number; readonly Labels: Labels }>;
  readonly PrecisionGauges: readonly never[];
  readonly Points: readonly never[];
  readonly Counters: readonly SampledValue[];
  readonly Samples: readonly SampledValue[];
}

/** Counters, gauges and samples of the agent, with Nomad's names. A label `host` is added to all. */
export class MetricsRegistry implements MetricsSink {
  readonly #clock: Clock;
  readonly #base: Labels;
  readonly #counters = new Map<string, CounterSeries>();
  readonly #samples = new Map<string, SampleSeries>();
  readonly #gauges = new Map<string, GaugeSeries>();
  /** Gauges of collectors: made anew at each look, so that what has ended is gone. */
  #collected = new Map<string, GaugeSeries>();
  #collecting = false;
  readonly #collectors = new Set<(sink: Required<MetricsSink>) => void>();
  #intervalStartMs: number;
  #finishedStartMs: number | undefined;
  #dropped = 0;

  constructor(o: { readonly clock: Clock; readonly host: string }) {
    this.#clock = o.clock;
    this.#base = { host: o.host };
    this.#intervalStartMs = floor(o.clock.now());
  }

  /** Series that were refused because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  incrCounter(name: string, value: number, labels: Labels): void {
    this.#roll();
    const series = this.#of(this.#counters, name, labels, (s) => ({
      ...s,
      total: 0,
      current: emptyAggregate(),
      finished: undefined,
    }));
    if (series === undefined) return;
    series.total += value;
    observe(series.current, value);
  }

  addSample(name: string, ms: number, labels: Labels): void {
    this.#roll();
    const series = this.#of(this.#samples, name, labels, (s) => ({
      ...s,
      total: 0,
      totalCount: 0,
      current: emptyAggregate(),
      finished: undefined,
      window: [],
    }));
    if (series === undefined) return;
    series.total += ms;
    series.totalCount += 1;
    observe(series.current, ms);
    series.window.push({ atMs: this.#clock.now(), value: ms });
    if (series.window.length > MAX_WINDOW) series.window.shift();
  }

  setGauge(name: string, value: number, labels: Labels): void {
    const series = this.#of(this.#collecting ? this.#collected : this.#gauges, name, labels, (s) => ({
      ...s,
      value: 0,
    }));
    if (series !== undefined) series.value = value;
  }

  remove(labels: Labels): void {
    const wanted = Object.entries(labels);
    for (const map of [this.#counters, this.#samples, this.#gauges] as Array<Map<string, Series>>) {
      for (const [key, series] of map)
        if (wanted.every(([name, value]) => series.labels[name] === value)) map.delete(key);
    }
  }

  /** Registers a source of gauges: it is asked whenever metrics are read, so nothing is computed for nobody. */
  onCollect(collect: (sink: Required<MetricsSink>) => void): Disposable {
    this.#collectors.add(collect);
    return { [Symbol.dispose]: () => void this.#collectors.delete(collect) };
  }

  /** Nomad's JSON: counters and samples of the last finished interval, or of the present one if it is the first. */
  snapshot(): MetricsSnapshot {
    this.#collect();
    this.#roll();
    const finished = this.#finishedStartMs !== undefined;
    const sampled = (series: CounterSeries): SampledValue[] => {
      const aggregate = finished ? series.finished : series.current;
      if (aggregate === undefined || aggregate.count === 0) return [];
      const { count, sum, min, max } = aggregate;
      return [
        {
          Name: series.name,
          Count: count,
          Rate: sum / (INTERVAL_MS / 1000),
          Sum: sum,
          Min: min,
          Max: max,
          Mean: sum / count,
          Stddev: stddev(aggregate),
          Labels: series.labels,
        },
      ];
    };
    return {
      Timestamp: goTime(this.#finishedStartMs ?? this.#intervalStartMs),
      Gauges: sorted([...this.#gauges.values(), ...this.#collected.values()]).map(({ name, value, labels }) => ({
        Name: name,
        Value: value,
        Labels: labels,
      })),
      PrecisionGauges: [],
      Points: [],
      Counters: sorted([...this.#counters.values()]).flatMap(sampled),
      Samples: sorted([...this.#samples.values()]).flatMap(sampled),
    };
  }

  /** Everything since each series began, for Prometheus. */
  totals(): {
    readonly counters: ReadonlyArray<Series & { readonly total: number }>;
    readonly gauges: ReadonlyArray<Series & { readonly value: number }>;
    readonly samples: ReadonlyArray<
      Series & { readonly total: number; readonly count: number; readonly recent: readonly number[] }
    >;
  } {
    this.#collect();
    this.#expire();
    const since = this.#clock.now() - INTERVAL_MS;
    return {
      counters: sorted([...this.#counters.values()]),
      gauges: sorted([...this.#gauges.values(), ...this.#collected.values()]),
      samples: sorted([...this.#samples.values()]).map((s) => ({
        name: s.name,
        labels: s.labels,
        total: s.total,
        count: s.totalCount,
        recent: s.window.filter((v) => v.atMs >= since).map((v) => v.value),
      })),
    };
  }

  #collect(): void {
    this.#collected = new Map();
    this.#collecting = true;
    try {
      for (const collect of this.#collectors) collect(this);
    } finally {
      this.#collecting = false;
    }
  }

  #of<S extends KeptSeries>(
    map: Map<string, S>,
    name: string,
    labels: Labels,
    create: (series: KeptSeries) => S,
  ): S | undefined {
    const key = seriesKey(name, labels);
    const touchedMs = this.#clock.monotonic();
    const known = map.get(key);
    if (known !== undefined && !isExpired(known, touchedMs)) {
      known.touchedMs = touchedMs;
      return known;
    }
    if (known !== undefined) map.delete(key);
    if (this.#counters.size + this.#samples.size + this.#gauges.size + this.#collected.size >= MAX_SERIES) {
      this.#dropped += 1;
      return undefined;
    }
    const series = create({ name, labels: Object.freeze({ ...labels, ...this.#base }), touchedMs });
    map.set(key, series);
    return series;
  }

  /** Ends the interval when its time is over. */
  #roll(): void {
    const now = floor(this.#clock.now());
    if (now === this.#intervalStartMs) return;
    const skipped = now - this.#intervalStartMs > INTERVAL_MS;
    for (const series of [...this.#counters.values(), ...this.#samples.values()]) {
      series.finished = skipped ? emptyAggregate() : series.current;
      series.current = emptyAggregate();
    }
    this.#finishedStartMs = now - INTERVAL_MS;
    this.#intervalStartMs = now;
    this.#expire();
  }

  /** Forgets what nobody touches any more: rare labels must not fill the memory for ever. */
  #expire(): void {
    const nowMs = this.#clock.monotonic();
    for (const map of [this.#counters, this.#samples, this.#gauges] as Array<Map<string, KeptSeries>>)
      for (const [key, series] of map) if (isExpired(series, nowMs)) map.delete(key);
  }
}

function isExpired(series: KeptSeries, nowMs: number): boolean {
  return nowMs - series.touchedMs > EXPIRY_MS;
}

function floor(ms: number): number {
  return Math.floor(ms / INTERVAL_MS) * INTERVAL_MS;
}

function sorted<S extends Series>(list: S[]): S[] {
  return list.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function goTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} +0000 UTC`;
}
