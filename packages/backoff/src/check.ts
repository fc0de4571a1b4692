import { rangeError } from "./backoff-error.ts";

/** Throws unless `value` is a finite number ≥ `min`. */
export function checkNumber(field: string, value: number, min = 0): void {
  if (!(Number.isFinite(value) && value >= min)) throw rangeError(field, value, `finite, >= ${min}`);
}

/** Throws for what no timer can wait for. */
export function checkWait(field: string, ms: number): void {
  if (!(Math.abs(ms) <= Number.MAX_SAFE_INTEGER)) throw rangeError(field, ms, "finite ms");
}

/** Draws from `random` and refuses what is not in [0, 1): one NaN would turn every later delay into NaN. */
export function draw(random: () => number): number {
  const r = random();
  if (!(r >= 0 && r < 1)) throw rangeError("random()", r, "in [0, 1)");
  return r;
}
