import { DAY_S } from "./calendar.ts";
import { isoDate } from "./date-rules.ts";
import type { Zone } from "./zone.ts";

const two = (n: number): string => String(n).padStart(2, "0");

/** The wall clock of a zone at an instant with its offset: `2026-03-08T03:00:00-04:00`. */
export function localText(zone: Zone, t: number): string {
  const offset = zone.offsetAt(t);
  const minutes = Math.abs(Math.round(offset / 60_000));
  return `${wallText(Math.floor((t + offset) / 1000))}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** `2026-03-08T03:00:00`. */
export function wallText(wall: number): string {
  const day = Math.floor(wall / DAY_S);
  const time = wall - day * DAY_S;
  return `${isoDate(day)}T${two(Math.floor(time / 3600))}:${two(Math.floor((time % 3600) / 60))}:${two(time % 60)}`;
}
