import { describe, expect, it } from "vitest";
import { parseSchedule, type ScheduleSpec } from "@outrider/cron-schedule";
import { matches, nextEdge, patternText, type PlainPattern, readWalls, toggle } from "./brute-force.ts";
import { seeded } from "./check-transition.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
// One and the same unless told otherwise: what these tests reach counts for the coverage gates, which chance may not open and close.
const seed = Number(process.env["OUTRIDER_TEST_SEED"] ?? 20_260_612);
const options = { dialect: "extended", overnight: true } as const;

interface Plain {
  readonly start: PlainPattern;
  readonly end: PlainPattern;
  readonly zone: string;
}

const text = ({ start, end, zone }: Plain) => ({
  start: patternText(start, 6),
  end: patternText(end, 2),
  timezone: zone,
});

/** A random window, often with neighbours that touch or overlap. */
function randomWindow(random: () => number, zone: string): Plain {
  const pick = (n: number): number => Math.floor(random() * n);
  const none = { dom: null, months: null, dow: null };
  return {
    zone,
    start: {
      ...none,
      minutes: [pick(4) * 15],
      hours: random() < 0.15 ? null : [pick(24)],
      dow: random() < 0.4 ? [pick(7), pick(7)].filter((d, i, a) => a.indexOf(d) === i) : null,
    },
    end: { ...none, minutes: [pick(4) * 15], hours: random() < 0.15 ? null : [pick(24)] },
  };
}

const statesOf = (walls: Map<string, Int32Array>, w: Plain): Uint8Array =>
  toggle(walls.get(w.zone) as Int32Array, w.start, w.end);

/** Compares every edge of a schedule with a list of states. */
function compare(spec: ScheduleSpec, states: Uint8Array, from: number, warmDays: number, label: string): void {
  const schedule = parseSchedule(spec, options);
  let i = (warmDays * DAY) / MINUTE;
  const stop = states.length - (warmDays * DAY) / MINUTE;
  for (let edge = nextEdge(states, i); edge >= 0 && edge < stop; edge = nextEdge(states, i)) {
    for (const now of [from + edge * MINUTE - 1, from + Math.floor((i + edge) / 2) * MINUTE, from + i * MINUTE]) {
      const got = schedule.evaluate(now);
      const on = states[i] === 1;
      const at = `${label} ${JSON.stringify(spec)} at ${new Date(now).toISOString()}`;
      if (got.inWindow !== on) throw new Error(`${at}: ${got.inWindow}`);
      const next = on ? got.nextEnd : got.nextStart;
      if (next?.getTime() !== from + edge * MINUTE)
        throw new Error(`${at}: ${next?.toISOString()}, want ${new Date(from + edge * MINUTE).toISOString()}`);
    }
    i = edge;
  }
}

describe(`combined windows (seed ${seed})`, () => {
  const random = seeded(seed);
  // Over the end of summer time in New York, with a window in another zone.
  const from = Date.UTC(2026, 9, 22);
  const walls = new Map(
    ["America/New_York", "Asia/Kathmandu"].map((zone) => [zone, readWalls(zone, from, from + 16 * DAY)]),
  );
  const zoneOf = (): string => (random() < 0.7 ? "America/New_York" : "Asia/Kathmandu");
  const merge = (lists: readonly Uint8Array[], op: (values: number[]) => boolean): Uint8Array =>
    Uint8Array.from({ length: (lists[0] as Uint8Array).length }, (_, i) =>
      op(lists.map((list) => list[i] as number)) ? 1 : 0,
    );

  it("are open while any window is, and none of the downtimes, inverted or not, as a scan says", () => {
    for (let run = 0; run < 15; run++) {
      const up = Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomWindow(random, zoneOf()));
      const down = Array.from({ length: Math.floor(random() * 3) }, () => randomWindow(random, zoneOf()));
      const invert = random() < 0.4;
      const any = merge(
        up.map((w) => statesOf(walls, w)),
        (values) => values.includes(1) !== invert,
      );
      const states =
        down.length === 0
          ? any
          : merge([any, ...down.map((w) => statesOf(walls, w))], ([u, ...d]) => u === 1 && !d.includes(1));
      compare({ windows: up.map(text), downtime: down.map(text), invert }, states, from, 2, "combined");
    }
  });

  it("skip and add dates by the local day of the start, as a scan says", () => {
    const day = (i: number): string => new Date(Date.UTC(2026, 9, 22 + i)).toISOString().slice(0, 10);
    for (let run = 0; run < 15; run++) {
      const window = randomWindow(random, "America/New_York");
      const picked = (): number[] =>
        Array.from({ length: Math.floor(random() * 4) }, () => 2 + Math.floor(random() * 11)).sort((a, b) => a - b);
      const except = picked();
      const extra = picked();
      const wallDays = (list: readonly number[]): ReadonlySet<number> =>
        new Set(list.map((i) => Date.UTC(2026, 9, 22 + i) / DAY));
      const [skipped, added] = [wallDays(except), wallDays(extra)];
      const start = { ...window.start, minutes: window.start.minutes, hours: window.start.hours };
      // The scan with dates of its own: a day matches as asked, then times as usual.
      const times = { ...start, dow: null, dom: null, months: null };
      const own: PlainPattern & { test?: (wall: number) => boolean } = start;
      const states = toggleWith(
        walls.get("America/New_York") as Int32Array,
        start.hours === null,
        window.end,
        (wall) => {
          const d = Math.floor(wall / 1440);
          if (skipped.has(d)) return false;
          return matches(own, wall) || (added.has(d) && matches(times, wall));
        },
      );
      // Rules in several forms: single, yearly, range.
      const rules = except.map((i) =>
        random() < 0.3 ? day(i).slice(5) : random() < 0.5 ? `${day(i)}..${day(i)}` : day(i),
      );
      compare({ windows: [text(window)], except: rules, extra: extra.map(day) }, states, from, 1, "dates");
    }
  });

  it("start late by a share of the jitter, keep their end, and never vanish", () => {
    for (let run = 0; run < 15; run++) {
      const plain = [text(randomWindow(random, "America/New_York")), text(randomWindow(random, "Asia/Kathmandu"))];
      const bare = parseSchedule({ windows: plain }, options);
      const maxMs = Math.floor(random() * 4 * 3_600_000);
      const late = parseSchedule({ windows: plain, jitter: { maxMs, key: `alloc-${run}` } }, options);
      const a = [...bare.windows(from, { count: 20 })];
      const b = [...late.windows(from, { count: 20 })];
      expect(b.map((w) => w.end)).toEqual(a.map((w) => w.end));
      for (const [i, window] of b.entries()) {
        const before = a[i] as (typeof a)[number];
        const delay = window.start.getTime() - before.start.getTime();
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(Math.min(maxMs, before.durationMs));
        expect(window.durationMs).toBeGreaterThan(0);
        // Every instant agrees with the list.
        for (const t of [
          before.start.getTime() - 1,
          before.start.getTime(),
          window.start.getTime() - 1,
          window.start.getTime(),
          window.end.getTime() - 1,
        ]) {
          const inside =
            t >= window.start.getTime() || (b[i - 1] !== undefined && t < (b[i - 1] as typeof window).end.getTime());
          // A new object each time: an answer is remembered for later instants.
          const asked = parseSchedule({ windows: plain, jitter: { maxMs, key: `alloc-${run}` } }, options);
          expect(asked.isOpen(t)).toBe(inside);
          const next = asked.evaluate(t);
          expect(inside ? next.nextEnd : next.nextStart).toEqual(
            inside ? (t >= window.start.getTime() ? window : (b[i - 1] as typeof window)).end : window.start,
          );
        }
      }
    }
  });
});

/** The toggle rule with an arbitrary test for starts. */
function toggleWith(walls: Int32Array, wild: boolean, end: PlainPattern, opens: (wall: number) => boolean): Uint8Array {
  const states = new Uint8Array(walls.length);
  let on = false;
  let highest = (walls[0] as number) - 1;
  let previous = highest;
  for (const [i, wall] of walls.entries()) {
    for (let elapsed = wall > previous ? previous + 1 : wall; elapsed <= wall; elapsed++) {
      if (elapsed <= highest && !wild) continue;
      if (matches(end, elapsed)) on = false;
      if (opens(elapsed)) on = true;
    }
    highest = Math.max(highest, wall);
    previous = wall;
    states[i] = on ? 1 : 0;
  }
  return states;
}
