import { Cron as Croner } from "croner";
import { Temporal } from "temporal-polyfill";
import { parseCron, parseSchedule } from "@outrider/cron-schedule";
import type { Transition } from "./brute-force.ts";
import type { Zone } from "../src/zone.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** A time of day near the wall times of a transition. */
function timeNear({ at, before, after }: Transition, random: () => number): { minute: number; hour: number } {
  const low = at / MINUTE + Math.min(before, after) - 90;
  const wall = low + Math.floor(random() * Math.min(Math.abs(after - before) + 180, 1440));
  return { minute: ((wall % 60) + 60) % 60, hour: ((Math.floor(wall / 60) % 24) + 24) % 24 };
}

/**
 * Next runs of a fixed time around a transition, against croner: both run a skipped time at the jump and a repeated one once. Returns the
 * first difference as text.
 */
export function checkCroner(zone: string, transition: Transition, random: () => number): string | undefined {
  const time = timeNear(transition, random);
  const expression = `${time.minute} ${time.hour} * * ${random() < 0.3 ? "1-5" : "*"}`;
  const cron = parseCron(expression, { timezone: zone, missing: "shift", repeated: "first" });
  const peer = new Croner(`0 ${expression}`, { timezone: zone });
  let from: Date | null = new Date(transition.at - 2 * DAY + Math.floor(random() * DAY));
  for (let i = 0; i < 4; i++) {
    const ours = cron.next(from) as Date;
    const theirs = peer.nextRun(from);
    if (ours.getTime() !== theirs?.getTime())
      return `${expression} in ${zone}: ${ours.toISOString()}, croner says ${theirs?.toISOString()}`;
    from = theirs;
  }
  return undefined;
}

/**
 * Wall time to instant as Temporal sees it: `earlier` for unique and repeated times; a skipped time gives the instant at
 * which the wall clock passes it. Also the offsets on both sides. Returns the first difference as text.
 */
export function checkTemporal(zone: Zone, { at, before, after }: Transition): string | undefined {
  const low = at / MINUTE + Math.min(before, after) - 120;
  const high = at / MINUTE + Math.max(before, after) + 120;
  for (let wall = low; wall <= high; wall += 10) {
    const plain = Temporal.PlainDateTime.from(new Date(wall * MINUTE).toISOString().slice(0, 19));
    const earlier = plain.toZonedDateTime(zone.name, { disambiguation: "earlier" });
    const skipped = !earlier.toPlainDateTime().equals(plain);
    const want = skipped ? at : earlier.epochMilliseconds;
    const got = zone.firstInstant(wall * MINUTE);
    if (got !== want)
      return `${plain.toString()} in ${zone.name}: ${new Date(got).toISOString()}, Temporal says ${new Date(want).toISOString()}`;
  }
  for (const t of [at - DAY, at - 1, at, at + DAY]) {
    const want = Temporal.Instant.fromEpochMilliseconds(t).toZonedDateTimeISO(zone.name).offsetNanoseconds / 1e6;
    if (zone.offsetAt(t) !== want)
      return `offset of ${zone.name} at ${new Date(t).toISOString()}: ${zone.offsetAt(t)}, Temporal says ${want}`;
  }
  return undefined;
}

/** Starts of windows around a transition, against croner on the start pattern. Returns the first difference as text. */
export function checkCronerStarts(zone: string, transition: Transition, random: () => number): string | undefined {
  const { minute, hour } = timeNear(transition, random);
  // Five hours long, so that no window lies wholly in a skipped span, except where a whole day is skipped.
  const text = { start: `${minute} ${hour} * * * *`, end: `${minute} ${(hour + 5) % 24}`, timezone: zone };
  const schedule = parseSchedule(text, { overnight: true });
  const peer = new Croner(`0 ${minute} ${hour} * * *`, { timezone: zone });
  let from = transition.at - 2 * DAY;
  for (let i = 0; i < 4; i++) {
    const ours = schedule.evaluate(from).nextStart as Date;
    const theirs = peer.nextRun(new Date(from));
    if (ours.getTime() !== theirs?.getTime())
      return `${JSON.stringify(text)}: ${ours.toISOString()}, croner says ${theirs?.toISOString()}`;
    from = ours.getTime() + HOUR;
  }
  return undefined;
}
