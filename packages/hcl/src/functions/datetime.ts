import { FunctionError, type HclFunction } from "../eval-types.ts";
import { STRING } from "../types.ts";
import { fixed, param } from "./define.ts";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** A moment with its zone offset. `wall` counts milliseconds as if the local time were UTC. */
interface Stamp {
  wall: number;
  /** Nanoseconds below the second. */
  nanos: number;
  offsetMinutes: number;
  utc: boolean;
}

const parseStamp = (text: string, i: number): Stamp => {
  const m = /^(\d{4})-(\d\d)-(\d\d)[T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const bad = (): never => {
    throw new FunctionError(`${JSON.stringify(text)} is no time such as 2026-01-02T03:04:05Z`, i);
  };
  if (m === null) return bad();
  const [year, month, day, hour, minute, second] = m.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const wall = Date.UTC(2000, month - 1, day, hour, minute, second);
  const date = new Date(wall);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
    return bad();
  const zone = m[8] as string;
  const offset = zone === "Z" ? 0 : Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  return {
    wall: date.getTime(),
    nanos: Number((m[7] ?? "").padEnd(9, "0")),
    offsetMinutes: zone.startsWith("-") ? -offset : offset,
    utc: zone === "Z",
  };
};

const two = (n: number): string => String(n).padStart(2, "0");

const zoneText = (s: Stamp, separator: string): string => {
  const minutes = Math.abs(s.offsetMinutes);
  return `${s.offsetMinutes < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`;
};

const verbs: Record<string, (d: Date, s: Stamp) => string> = {
  YYYY: (d) => String(d.getUTCFullYear()).padStart(4, "0"),
  YY: (d) => two(d.getUTCFullYear() % 100),
  MMMM: (d) => MONTHS[d.getUTCMonth()] as string,
  MMM: (d) => (MONTHS[d.getUTCMonth()] as string).slice(0, 3),
  MM: (d) => two(d.getUTCMonth() + 1),
  M: (d) => String(d.getUTCMonth() + 1),
  DD: (d) => two(d.getUTCDate()),
  D: (d) => String(d.getUTCDate()),
  EEEE: (d) => DAYS[d.getUTCDay()] as string,
  EEE: (d) => (DAYS[d.getUTCDay()] as string).slice(0, 3),
  hh: (d) => two(d.getUTCHours()),
  h: (d) => String(d.getUTCHours()),
  HH: (d) => two(d.getUTCHours() % 12 || 12),
  H: (d) => String(d.getUTCHours() % 12 || 12),
  AA: (d) => (d.getUTCHours() < 12 ? "AM" : "PM"),
  aa: (d) => (d.getUTCHours() < 12 ? "am" : "pm"),
  mm: (d) => two(d.getUTCMinutes()),
  m: (d) => String(d.getUTCMinutes()),
  ss: (d) => two(d.getUTCSeconds()),
  s: (d) => String(d.getUTCSeconds()),
  ZZZZZ: (_, s) => zoneText(s, ":"),
  ZZZZ: (_, s) => zoneText(s, ""),
  ZZZ: (_, s) => (s.utc ? "UTC" : zoneText(s, "")),
  Z: (_, s) => (s.utc ? "Z" : zoneText(s, ":")),
};

const formatDate = (format: string, time: string): string => {
  const stamp = parseStamp(time, 1);
  const date = new Date(stamp.wall);
  return format.replace(
    /'((?:[^']|'')*)('?)|([A-Za-z])\3*/g,
    (token: string, literal: string | undefined, close: string) => {
      if (literal !== undefined) {
        if (close === "") throw new FunctionError("a quote in the format is not closed", 0);
        return literal === "" ? "'" : literal.replaceAll("''", "'");
      }
      if (!Object.hasOwn(verbs, token))
        throw new FunctionError(
          `${JSON.stringify(token)} is no part of a date format; put plain letters in single quotes`,
          0,
        );
      return (verbs[token] as (d: Date, s: Stamp) => string)(date, stamp);
    },
  );
};

const UNITS: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Nanoseconds of a duration such as `-1h30m`. */
const parseDuration = (text: string): bigint => {
  const m = /^([+-]?)((?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text);
  if (m === null && !/^[+-]?0$/.test(text))
    throw new FunctionError(`${JSON.stringify(text)} is no duration such as 1h30m`, 1);
  let total = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = UNITS[unit] as bigint;
    total += BigInt(whole === "" ? "0" : whole) * size;
    if (fraction !== "") total += (BigInt(fraction.slice(0, 18)) * size) / 10n ** BigInt(Math.min(fraction.length, 18));
  }
  if (total >= 1n << 63n) throw new FunctionError("the duration is too long", 1);
  return text.startsWith("-") ? -total : total;
};

const addTime = (time: string, duration: string): string => {
  const stamp = parseStamp(time, 0);
  const nanos = BigInt(stamp.wall) * 1_000_000n + BigInt(stamp.nanos) + parseDuration(duration);
  const seconds = nanos / 1_000_000_000n - (nanos % 1_000_000_000n < 0n ? 1n : 0n);
  const date = new Date(Number(seconds) * 1000);
  if (date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999 || Number.isNaN(date.getTime()))
    throw new FunctionError("the result is not in the years 0 to 9999", 1);
  return date.toISOString().slice(0, 19) + (stamp.utc || stamp.offsetMinutes === 0 ? "Z" : zoneText(stamp, ":"));
};

export const datetimeFunctions = (): Readonly<Record<string, HclFunction>> => ({
  formatdate: fixed([param("format", STRING), param("time", STRING)], ([f, t]) => formatDate(f as string, t as string)),
  timeadd: fixed([param("timestamp", STRING), param("duration", STRING)], ([t, d]) =>
    addTime(t as string, d as string),
  ),
});
