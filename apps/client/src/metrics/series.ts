import type { Labels } from "@outrider/hook-telemetry";

/** Numbers of one counter or sample in one interval. */
export interface Aggregate {
  count: number;
  sum: number;
  sumSquares: number;
  min: number;
  max: number;
}

/** One series: a name with its labels. */
export interface Series {
  readonly name: string;
  readonly labels: Labels;
}

/** Texts of label sets that cannot change any more. */
const TEXTS = new WeakMap<Labels, string>();

/** Identity of a series: label order does not matter. */
export function seriesKey(name: string, labels: Labels): string {
  let text = TEXTS.get(labels);
  if (text === undefined) {
    text = Object.keys(labels)
      .sort()
      .map((key) => `${key}=${labels[key] ?? ""}`)
      .join("\n");
    if (Object.isFrozen(labels)) TEXTS.set(labels, text);
  }
  return `${name}\n${text}`;
}

/** An aggregate of nothing. */
export function emptyAggregate(): Aggregate {
  return { count: 0, sum: 0, sumSquares: 0, min: 0, max: 0 };
}

/** Takes a value in. */
export function observe(aggregate: Aggregate, value: number): void {
  aggregate.min = aggregate.count === 0 ? value : Math.min(aggregate.min, value);
  aggregate.max = aggregate.count === 0 ? value : Math.max(aggregate.max, value);
  aggregate.count += 1;
  aggregate.sum += value;
  aggregate.sumSquares += value * value;
}

/** Sample standard deviation. */
export function stddev({ count, sum, sumSquares }: Aggregate): number {
  if (count < 2) return 0;
  return Math.sqrt(Math.max(0, (count * sumSquares - sum * sum) / (count * (count - 1))));
}
