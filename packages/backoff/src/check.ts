import { BackoffRangeError } from "./backoff-error.ts";

/** Throws unless `value` is a finite number ≥ 0. */
export function checkDuration(field: string, value: number): void {
  if (typeof value !== "number" || !(value >= 0 && value <= Number.MAX_VALUE)) {
    throw new BackoffRangeError(field, value, "a finite number >= 0");
  }
}

/** Draws from `random` and refuses what is not in [0, 1): one NaN would turn every later delay into NaN. */
export function draw(random: () => number): number {
  const r = random();
  if (!(r >= 0 && r < 1)) throw new BackoffRangeError("random()", r, "in [0, 1)");
  return r;
}
