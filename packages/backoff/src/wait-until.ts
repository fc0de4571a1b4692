import { checkWait } from "./check.ts";
import { systemClock } from "./clock.ts";
import { sleep, type WaitOptions } from "./sleep.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Waits until the wall clock shows `wallMs` (epoch ms) or later. The clock is read again at least every 6 hours, and every
 * minute during the last hour, so a suspended machine, a corrected clock or a wait of months end at the right moment.
 * A moment that has passed still yields to the timer queue once.
 * @public
 */
export async function waitUntil(wallMs: number, options: WaitOptions = {}): Promise<void> {
  checkWait("wallMs", wallMs);
  const { clock = systemClock } = options;
  do {
    const left = wallMs - clock.now();
    await sleep(Math.min(left, Math.max(Math.min(left - HOUR_MS, 6 * HOUR_MS), MINUTE_MS)), options);
  } while (clock.now() < wallMs);
}
