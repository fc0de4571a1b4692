import { structError } from "../error.ts";

/** Seconds from 0001-01-01T00:00:00Z, where Go's time starts, to 1970. */
const UNIX_TO_GO = 62_135_596_800n;
const PARTS = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Go's 15 bytes of a time: version, seconds since year 1, nanoseconds, zone −1 (UTC). Null is the zero time. */
export function timeToBytes(text: string | null): Uint8Array {
  const out = new Uint8Array(15);
  const view = new DataView(out.buffer);
  view.setUint8(0, 1);
  view.setInt16(13, -1);
  if (text === null) return out;
  const parts = PARTS.exec(text);
  const ms = parts === null ? Number.NaN : Date.parse(`${parts[1]}${parts[3]}`);
  if (Number.isNaN(ms)) throw structError("ERR_OUTRIDER_STRUCTS_TYPE", "", text, "must be a time");
  view.setBigInt64(1, BigInt(Math.floor(ms / 1000)) + UNIX_TO_GO);
  view.setInt32(9, Number((parts?.[2] ?? "0").padEnd(9, "0")));
  return out;
}

/** The text of Go's time bytes in UTC, without trailing zeros of the second; null for the zero time. */
export function timeFromBytes(data: Uint8Array, path: string): string | null {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const version = data.byteLength === 0 ? 0 : view.getUint8(0);
  if (!((version === 1 && data.byteLength === 15) || (version === 2 && data.byteLength === 16))) {
    throw structError("ERR_OUTRIDER_STRUCTS_TYPE", path, data.byteLength, "must be a time of 15 bytes");
  }
  const seconds = view.getBigInt64(1);
  const nanos = view.getInt32(9);
  if (seconds === 0n && nanos === 0) return null;
  const date = new Date(Number(seconds - UNIX_TO_GO) * 1000);
  if (Number.isNaN(date.getTime()) || nanos < 0 || nanos > 999_999_999) {
    throw structError("ERR_OUTRIDER_STRUCTS_RANGE", path, seconds, "must be a time within the years 1 to 9999");
  }
  const whole = date.toISOString().slice(0, -5);
  const fraction = nanos === 0 ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
  return `${whole}${fraction}Z`;
}
