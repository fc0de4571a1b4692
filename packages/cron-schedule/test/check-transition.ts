import { parseSchedule } from "@outrider/cron-schedule";
import { nextEdge, patternText, type PlainPattern, readWalls, toggle, type Transition } from "./brute-force.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** A window in plain lists. */
export interface PlainWindow {
  readonly start: PlainPattern;
  readonly end: PlainPattern;
}

/** Days before the transition at which scanning begins, and at which comparing begins. */
const LEAD = 5;
const WARM = 3;

/**
 * Compares `evaluate` with the toggle rule in every minute of the days around a transition.
 * Returns the first difference as text, or undefined.
 */
export function checkTransition(zone: string, { at }: Transition, windows: readonly PlainWindow[]): string | undefined {
  const from = Math.floor(at / DAY) * DAY - LEAD * DAY;
  const to = from + (LEAD + 4) * DAY;
  const walls = readWalls(zone, from, to);
  for (const { start, end } of windows) {
    const states = toggle(walls, start, end);
    const text = { start: patternText(start, 6), end: patternText(end, 2), timezone: zone };
    const schedule = parseSchedule(text, { dialect: "extended", overnight: true });
    // From edge to edge by the scan, and a few instants inside each span.
    let i = (WARM * DAY) / MINUTE;
    while (i >= 0) {
      const edge = nextEdge(states, i);
      const last = edge < 0 ? states.length - 1 : edge - 1;
      // Backwards in time, since an answer is remembered for later instants.
      for (const minute of new Set([
        last,
        Math.max(i, last - 45),
        Math.floor((i + last) / 2),
        Math.min(i + 61, last),
        i,
      ])) {
        const now = from + minute * MINUTE + (minute === last ? 59_999 : 0);
        const got = schedule.evaluate(now);
        const on = states[i] === 1;
        const next = on ? got.nextEnd : got.nextStart;
        if (got.inWindow !== on)
          return `${JSON.stringify(text)} at ${new Date(now).toISOString()}: inWindow ${got.inWindow}, want ${on}`;
        const want = edge < 0 ? undefined : from + edge * MINUTE;
        if (want === undefined ? next !== null && next.getTime() < to : next?.getTime() !== want) {
          return `${JSON.stringify(text)} at ${new Date(now).toISOString()} (${on ? "on" : "off"}): edge ${next?.toISOString()}, want ${want && new Date(want).toISOString()}`;
        }
      }
      i = edge;
    }
  }
  return undefined;
}

/** Windows whose edges lie near the wall times of a transition, from a source of chance. */
export function windowsNear({ at, before, after }: Transition, count: number, random: () => number): PlainWindow[] {
  const pick = (n: number): number => Math.floor(random() * n);
  const near = (): { hour: number; minute: number } => {
    // A quarter of an hour on either side of the skipped or repeated span.
    const low = at / MINUTE + Math.min(before, after) - 75;
    const high = at / MINUTE + Math.max(before, after) + 75;
    const span = Math.min(high - low, 1440);
    const wall = low + (random() < 0.5 ? pick(Math.ceil(span / 15) + 1) * 15 : pick(span + 1));
    return { hour: (((Math.floor(wall / 60) % 24) + 24) % 24) as number, minute: ((wall % 60) + 60) % 60 };
  };
  const windows: PlainWindow[] = [];
  for (let i = 0; i < count; i++) {
    const a = near();
    const b = near();
    const wild = random() < 0.3;
    const days = pick(4);
    const wall = new Date(at + after * MINUTE);
    windows.push({
      start: {
        minutes: random() < 0.1 ? null : [...new Set([a.minute, ...(random() < 0.3 ? [pick(60)] : [])])],
        hours: wild ? null : [...new Set([a.hour, ...(random() < 0.3 ? [near().hour] : [])])],
        dom: days === 1 || days === 3 ? [wall.getUTCDate()] : null,
        months: random() < 0.1 ? [wall.getUTCMonth() + 1] : null,
        dow: days === 2 || days === 3 ? [wall.getUTCDay(), pick(7)].filter((d, k, all) => all.indexOf(d) === k) : null,
      },
      end: {
        minutes: [...new Set([b.minute, ...(random() < 0.2 ? [pick(60)] : [])])],
        hours: random() < (wild ? 0.7 : 0.2) ? null : [random() < 0.7 ? b.hour : pick(24)],
        dom: null,
        months: null,
        dow: null,
      },
    });
  }
  return windows;
}

/** A small seeded source of chance (mulberry32). */
export function seeded(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
