import { structError } from "./error.ts";

/** Nanoseconds in a millisecond. @public */
export const NS_PER_MS = 1_000_000;

/** Nanoseconds of milliseconds, rounded to a whole number. @public */
export function msToNs(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}

/** Milliseconds of nanoseconds, with a fraction where there is one. @public */
export function nsToMs(ns: number): number {
  return ns / NS_PER_MS;
}

/** Text of a point in time as Nomad writes it: RFC 3339 in UTC, no trailing zeros of the second. @public */
export function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.?0+Z$/, "Z");
}

/** Milliseconds since 1970 of a time of the wire, to a millisecond; undefined when it is not set. @public */
export function timeMs(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text.startsWith("0001-01-01T00:00:00")) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const MAX_INT64 = 2n ** 63n - 1n;
const PART = /^(\d*)(?:\.(\d*))?([^\d.]*)/;

/**
 * Parses Go's duration text (`1h30m`, `-1.5s`, `0`) to whole nanoseconds. Throws `ERR_OUTRIDER_STRUCTS_TYPE` for other
 * text and `ERR_OUTRIDER_STRUCTS_RANGE` beyond 64 bits (292 years). Beyond 104 days only what a double holds is kept, which
 * includes every whole second.
 *
 * @public
 */
export function parseDuration(text: string): number {
  const fail = (why: string): never => {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", "", text, why);
  };
  let rest = text;
  let negative = false;
  if (rest.startsWith("-") || rest.startsWith("+")) {
    negative = rest.startsWith("-");
    rest = rest.slice(1);
  }
  if (rest === "0") return 0;
  if (rest === "" || text.length > 100) return fail("is not a duration like 30s or 1h15m");
  let total = 0n;
  while (rest !== "") {
    const [all, whole = "", fraction, unit = ""] = PART.exec(rest) as RegExpExecArray;
    if (whole === "" && (fraction === undefined || fraction === "")) return fail("is not a duration like 30s or 1h15m");
    if (unit === "") return fail("has no unit (ns, us, ms, s, m, h)");
    if (!Object.hasOwn(UNITS, unit)) return fail(`has the unknown unit ${JSON.stringify(unit)}`);
    const scale = UNITS[unit] as bigint;
    total += BigInt(whole === "" ? "0" : whole) * scale;
    const digits = (fraction ?? "").slice(0, 18);
    if (digits !== "") total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    rest = rest.slice(all.length);
  }
  if (total > MAX_INT64) {
    throw structError("ERR_OUTRIDER_STRUCTS_RANGE", "", text, "is longer than 292 years");
  }
  if (total === 0n) return 0;
  return negative ? -Number(total) : Number(total);
}

function withFraction(value: bigint, unit: bigint, suffix: string): string {
  const fraction = String(value % unit)
    .padStart(String(unit).length - 1, "0")
    .replace(/0+$/, "");
  return `${value / unit}${fraction === "" ? "" : `.${fraction}`}${suffix}`;
}

/** Go's text of a duration in nanoseconds: `0s`, `1.5s`, `2h0m0s`, `300ms`. @public */
export function formatDuration(ns: number): string {
  if (ns === 0) return "0s";
  const sign = ns < 0 ? "-" : "";
  const total = BigInt(Math.trunc(Math.abs(ns)));
  const s = UNITS["s"] as bigint;
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return sign + withFraction(total, 1_000n, "µs");
  if (total < s) return sign + withFraction(total, 1_000_000n, "ms");
  const seconds = withFraction(total % (60n * s), s, "s");
  const minutes = total / (60n * s);
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}
