import { formatDuration } from "@outrider/nomad-structs";
import stringWidth from "string-width";

/** Rows of cells as columns two spaces apart; the first row is usually the heading. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, stringWidth(cell))));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell + " ".repeat((widths[i] as number) - stringWidth(cell))))
        .join("  "),
    )
    .join("\n");
}

/** `key = value` lines with the equal signs below each other. */
export function keyValues(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([key]) => key.length));
  return pairs.map(([key, value]) => `${key.padEnd(width)} = ${value}`).join("\n");
}

/** The short form of an id, unless the whole is wanted. */
export const shortId = (id: string, whole = false): string => (whole ? id : id.slice(0, 8));

const pad = (n: number): string => String(n).padStart(2, "0");

/** RFC 3339 to the second in the zone of the terminal, from ns since the epoch. */
export function instant(ns: number): string {
  if (!ns) return "N/A";
  const date = new Date(ns / 1e6);
  const offset = -date.getTimezoneOffset();
  const zone =
    offset === 0
      ? "Z"
      : `${offset < 0 ? "-" : "+"}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}T${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}${zone}`;
}

/** A time text of the API (RFC 3339 with fraction) as `instant`; Go's zero time is N/A. */
export function instantOf(text: string | undefined | null): string {
  if (!text || text.startsWith("0001-")) return "N/A";
  return instant(Date.parse(text) * 1e6);
}

const UNITS: readonly (readonly [string, number])[] = [
  ["y", 365 * 86_400],
  ["mo", 30 * 86_400],
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/** How long ago: the two largest parts, `1m27s ago`. */
export function ago(thenNs: number, nowMs: number): string {
  if (!thenNs) return "N/A";
  // A clock behind the agent's own must not show an age below zero.
  let rest = Math.max(0, Math.floor((nowMs * 1e6 - thenNs) / 1e9));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return `${parts.length === 0 ? "0s" : parts.join("")} ago`;
}

/** How long until an instant, in whole seconds: `14h3m57s from now`. */
export const until = (atMs: number, nowMs: number): string =>
  `${formatDuration(Math.max(0, Math.round((atMs - nowMs) / 1000)) * 1e9)} from now`;

/** Bytes in powers of 1,024: one digit after the point below ten. */
export function bytes(n: number): string {
  if (n < 10) return `${n} B`;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  const e = Math.min(Math.floor(Math.log(n) / Math.log(1024)), units.length - 1);
  const value = Math.floor((n / 1024 ** e) * 10 + 0.5) / 10;
  const whole = Math.floor(value);
  // A half goes to the even neighbour, as in the tool whose tables people compare with ours.
  const rounded = value - whole === 0.5 ? whole + (whole % 2) : Math.round(value);
  return `${value < 10 ? value.toFixed(1) : rounded} ${units[e]}`;
}

/** Terminal control characters out: what a server or a task's name says is never obeyed by the terminal. */
export const printable = (text: string): string =>
  text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
    (c) => `\\x${(c.codePointAt(0) as number).toString(16).padStart(2, "0")}`,
  );

/** A word or Nomad's mark for an empty one. */
export const orNone = (text: string | undefined | null): string => (text ? text : "<none>");
