/**
 * The toggle rule as it is told, minute by minute, with nothing of the package under test: wall clocks are read from `Intl`
 * for each hour (each minute where they change), fields are matched one wall minute at a time.
 */

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** Reads the offset of a zone in minutes at an instant. */
export function offsetReader(zone: string): (t: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (t) => {
    const [month, day, year, hour, minute, second] = (format.format(t).match(/\d+/g) as string[]).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return (Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(t / 1000) * 1000) / MINUTE;
  };
}

export interface Transition {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

/** All changes in [from, to), found with one sample a day; offsets in minutes. */
export function transitionsOf(zone: string, from: number, to: number): Transition[] {
  const read = offsetReader(zone);
  const found: Transition[] = [];
  let before = read(from);
  for (let t = from; t < to; t += DAY) {
    const after = read(t + DAY);
    if (after === before) continue;
    let low = t / MINUTE;
    let high = (t + DAY) / MINUTE;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (read(middle * MINUTE) === before) low = middle;
      else high = middle;
    }
    found.push({ at: high * MINUTE, before, after });
    before = after;
  }
  return found;
}

/** Wall minutes (since 1970, as if UTC) for each UTC minute of [from, to). */
export function readWalls(zone: string, from: number, to: number): Int32Array {
  const read = offsetReader(zone);
  const walls = new Int32Array((to - from) / MINUTE);
  for (let t = from; t < to; t += HOUR) {
    const start = read(t);
    const same = read(t + HOUR - MINUTE) === start;
    for (let m = 0; m < 60; m++) {
      const at = t + m * MINUTE;
      walls[(at - from) / MINUTE] = at / MINUTE + (same ? start : read(at));
    }
  }
  return walls;
}

/** A pattern as plain lists; null is a star. */
export interface PlainPattern {
  readonly minutes: readonly number[] | null;
  readonly hours: readonly number[] | null;
  readonly dom: readonly number[] | null;
  readonly months: readonly number[] | null;
  readonly dow: readonly number[] | null;
}

/** Whether a wall minute matches. */
export function matches(p: PlainPattern, wallMinute: number): boolean {
  const date = new Date(wallMinute * MINUTE);
  if (p.minutes && !p.minutes.includes(date.getUTCMinutes())) return false;
  if (p.hours && !p.hours.includes(date.getUTCHours())) return false;
  if (p.months && !p.months.includes(date.getUTCMonth() + 1)) return false;
  const dom = p.dom?.includes(date.getUTCDate());
  const dow = p.dow?.includes(date.getUTCDay());
  if (dom === undefined) return dow ?? true;
  return dow === undefined ? dom : dom || dow;
}

/** The text of a pattern, `fields` of them. */
export function patternText(p: PlainPattern, fields: 2 | 6): string {
  const field = (list: readonly number[] | null): string => list?.join(",") ?? "*";
  const texts = [field(p.minutes), field(p.hours), field(p.dom), field(p.months), field(p.dow), "*"];
  return texts.slice(0, fields).join(" ");
}

/** The state in each UTC minute. The first minutes are only right once a whole window has passed. */
export function toggle(walls: Int32Array, start: PlainPattern, end: PlainPattern): Uint8Array {
  const states = new Uint8Array(walls.length);
  const wild = start.hours === null;
  const seen = new Map<number, number>();
  const kind = (wall: number): number => {
    let bits = seen.get(wall);
    if (bits === undefined) {
      bits = (matches(start, wall) ? 1 : 0) | (matches(end, wall) ? 2 : 0);
      seen.set(wall, bits);
    }
    return bits;
  };
  let on = false;
  let highest = (walls[0] as number) - 1;
  let previous = highest;
  for (let i = 0; i < walls.length; i++) {
    const wall = walls[i] as number;
    const first = wall > previous ? previous + 1 : wall;
    for (let elapsed = first; elapsed <= wall; elapsed++) {
      if (elapsed <= highest && !wild) continue;
      const bits = kind(elapsed);
      if (bits & 2) on = false;
      if (bits & 1) on = true;
    }
    highest = Math.max(highest, wall);
    previous = wall;
    states[i] = on ? 1 : 0;
  }
  return states;
}

/** The first edge after minute `i`, as an index; −1 if there is none. */
export function nextEdge(states: Uint8Array, i: number): number {
  for (let j = i + 1; j < states.length; j++) if (states[j] !== states[i]) return j;
  return -1;
}
