import { checkNumber, checkWait, draw } from "./check.ts";
import { systemClock } from "./clock.ts";
import { mathRandom } from "./create-backoff.ts";

/** A uniform draw from [0, ms); 0 for ms ≤ 0. @public */
export function staggered(ms: number, random: () => number = mathRandom): number {
  checkWait("ms", ms);
  return ms > 0 ? draw(random) * ms : 0;
}

/**
 * The interval in ms at which each of `count` members acts so that all together act `perSecond` times a second, never below
 * `minMs`. Rates of one a day or less give `minMs`.
 * @public
 */
export function rateScaledInterval(perSecond: number, minMs: number, count: number): number {
  checkNumber("minMs", minMs);
  checkNumber("count", count);
  checkWait("perSecond", perSecond);
  return perSecond <= 1 / 86_400 ? minMs : Math.max(minMs, (count / perSecond) * 1000);
}

/**
 * How long to wait (ms from now) before renewing something that expires at `expiryMs` (epoch ms): half of the time left,
 * or `minMs` if that is longer, plus up to a tenth at random.
 * @public
 */
export function renewAt(
  expiryMs: number,
  minMs: number,
  options: { readonly now?: number; readonly random?: () => number } = {},
): number {
  const { now = systemClock.now(), random = mathRandom } = options;
  checkNumber("minMs", minMs);
  checkWait("expiryMs", expiryMs - now);
  const wait = Math.max((expiryMs - now) / 2, minMs);
  return wait + staggered(wait / 10, random);
}
