import { ZONE_NAMES } from "./zone-names.ts";

/** Zone data is kept in blocks of 2^35 ms (about 398 days). */
const BLOCK_MS = 2 ** 35;
/** Last block: about the end of 2108. Later instants count as this one. */
const LAST_BLOCK = 127;
/**
 * Distance of the samples. The shortest time between two changes of one zone since 1972 is 6.96 days (three zones of Brazil,
 * October 2000; Gaza again in 2040), so no pair of changes hides between two samples.
 */
const STEP_MS = 6 * 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** No zone is further ahead of UTC than this since 1972. */
const MAX_AHEAD_MS = 15 * HOUR_MS;
/** Longer than any jump of a wall clock, shorter than the time between two. */
const NEAR_MS = 27 * HOUR_MS;

/** A change of the offset. */
export interface Jump {
  /** The first instant with the new offset. */
  readonly at: number;
  /** Offsets from UTC in ms. */
  readonly before: number;
  readonly after: number;
}

/** Reads the offset at the end of a text such as `7 PM GMT-05:00`. */
function offsetOf(text: string): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(
    text,
  ) as RegExpExecArray;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -ms : ms;
}

/** One time zone: offsets looked up from `Intl` once and kept for all schedules. Not affected by the zone of the host. */
export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  /** Per block: start, offset, start, offset, … in ascending order; the first start is that of the block. */
  readonly #blocks: (Float64Array | undefined)[] = Array.from({ length: LAST_BLOCK + 1 });
  /** The segment of the latest look-up: an offset holds from `segmentStart` to before `segmentEnd` (or longer). */
  segmentStart = 0;
  segmentEnd = 0;
  #segmentOffset = 0;

  constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone: name, hour: "numeric", timeZoneName: "longOffset" });
    if (/^(?:UTC|UCT|GMT0?|Zulu|Universal|Greenwich|Etc\/.+)$/.test(name)) {
      this.segmentStart = -Infinity;
      this.segmentEnd = Infinity;
      this.#segmentOffset = this.#read(0);
    }
  }

  /** Offset from UTC in ms at instant `t`; leaves the segment of `t` in `segmentStart` and `segmentEnd`. */
  offsetAt(t: number): number {
    if (t >= this.segmentStart && t < this.segmentEnd) return this.#segmentOffset;
    const index = Math.min(Math.max(Math.floor(t / BLOCK_MS), 0), LAST_BLOCK);
    const block = this.#blocks[index] ?? this.#load(index);
    let i = block.length - 2;
    while (i > 0 && t < (block[i] as number)) i -= 2;
    this.segmentStart = i === 0 && index === 0 ? -Infinity : (block[i] as number);
    this.segmentEnd = block[i + 2] ?? (index === LAST_BLOCK ? Infinity : (index + 1) * BLOCK_MS);
    return (this.#segmentOffset = block[i + 1] as number);
  }

  /** The first instant at which the wall clock shows `wall` (ms, as if UTC) or later: for skipped times the jump. */
  firstInstant(wall: number): number {
    if (wall === Infinity) return Infinity;
    let t = wall - MAX_AHEAD_MS;
    for (;;) {
      const candidate = wall - this.offsetAt(t);
      if (candidate < this.segmentEnd) return Math.max(candidate, t);
      t = this.segmentEnd;
    }
  }

  /** The highest wall reading (ms) up to instant `t`; above the present one while an hour is repeated. */
  highWater(t: number): number {
    const jump = this.jumpBefore(t);
    const wall = t + this.offsetAt(t);
    return jump === undefined ? wall : Math.max(wall, jump.at + jump.before - 1);
  }

  /** The change of the last 27 hours up to and including instant `t`. */
  jumpBefore(t: number): Jump | undefined {
    const after = this.offsetAt(t);
    const start = this.segmentStart;
    return t - start > NEAR_MS ? undefined : this.#jump(this.offsetAt(t - NEAR_MS), after, this.segmentEnd, start);
  }

  /** The change within the 27 hours after instant `t`. */
  jumpAfter(t: number): Jump | undefined {
    const before = this.offsetAt(t);
    const end = this.segmentEnd;
    return end - t > NEAR_MS ? undefined : this.#jump(before, this.offsetAt(t + NEAR_MS), end, this.segmentStart);
  }

  /** The one change in a short span; the end of a block may lie beside it, so there are two places to look. */
  #jump(before: number, after: number, one: number, other: number): Jump | undefined {
    if (before === after) return undefined;
    return { at: this.offsetAt(one) === after ? one : other, before, after };
  }

  /** All changes in [from, to], in order. */
  jumps(from: number, to: number): Jump[] {
    const found: Jump[] = [];
    let before = this.offsetAt(from - 1);
    for (let t = this.segmentEnd; t <= to; t = this.segmentEnd) {
      const after = this.offsetAt(t);
      if (after !== before) found.push({ at: t, before, after });
      before = after;
    }
    return found;
  }

  #read(t: number): number {
    return offsetOf(this.#format.format(t));
  }

  #load(index: number): Float64Array {
    const start = index * BLOCK_MS;
    let low = start;
    let offset = this.#read(low);
    const found = [start, offset];
    while (low < start + BLOCK_MS) {
      const sample = Math.min(low + STEP_MS, start + BLOCK_MS);
      const next = this.#read(sample);
      if (next !== offset) {
        // A change at the very end belongs to the next block too; here it only ends the last segment.
        found.push(this.#bisect(low, sample, offset), next);
        offset = next;
      }
      low = sample;
    }
    return (this.#blocks[index] = Float64Array.from(found));
  }

  /** The first whole minute in (low, high] whose offset differs from `offset`. */
  #bisect(low: number, high: number, offset: number): number {
    let same = Math.floor(low / MINUTE_MS);
    let changed = Math.ceil(high / MINUTE_MS);
    while (changed - same > 1) {
      const middle = Math.floor((same + changed) / 2);
      if (this.#read(middle * MINUTE_MS) === offset) same = middle;
      else changed = middle;
    }
    return changed * MINUTE_MS;
  }
}

const zones = new Map<string, Zone | undefined>();
let names: Set<string> | undefined;

/** Whether `name` is in the tz database, letter case included. Aliases that only `Intl` knows (`PST`, `+05:30`) are not. */
export function isZoneName(name: string): boolean {
  names ??= new Set(ZONE_NAMES.flatMap(([folder, list]) => list.split(" ").map((last) => folder + last)));
  return names.has(name);
}

/** The zone of that name, shared by all schedules; undefined if the tz database or this runtime does not know it. */
export function zoneNamed(name: string): Zone | undefined {
  if (zones.has(name)) return zones.get(name);
  if (!isZoneName(name)) return undefined;
  let zone: Zone | undefined;
  try {
    zone = new Zone(name);
  } catch {
    // The runtime was built with older or smaller zone data.
  }
  zones.set(name, zone);
  return zone;
}
