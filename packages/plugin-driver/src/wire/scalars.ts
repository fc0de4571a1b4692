/** Small conversions between protobuf scalars and the contract's numbers. */
import { create } from "@bufbuild/protobuf";
import { DurationSchema, type Duration, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";

/** Go's zero time in seconds since 1970: "not set". */
const GO_ZERO_SECONDS = -62_135_596_800n;
const NS_PER_SECOND = 1_000_000_000;

/** A number as a 64-bit integer; what is not finite becomes 0, so that encoding never throws. */
export function toBigInt(value: number | undefined): bigint {
  if (value === undefined || !Number.isFinite(value)) return 0n;
  return BigInt(Math.trunc(value));
}

/** The same for unsigned fields: negative values become 0. */
export function toUnsigned(value: number | undefined): bigint {
  return value === undefined || !(value > 0) ? 0n : toBigInt(value);
}

/** Milliseconds as a protobuf duration. */
export function toDuration(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: toBigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}

/** A protobuf duration in milliseconds; absent is 0. */
export function fromDuration(value: Duration | undefined): number {
  return value === undefined ? 0 : Number(value.seconds) * 1000 + value.nanos / 1e6;
}

/** Nanoseconds since 1970 (a double, good to 256 ns) as a protobuf timestamp; 0 becomes Go's zero time. */
export function toTimestamp(ns: number): Timestamp {
  if (!Number.isFinite(ns) || ns === 0) return create(TimestampSchema, { seconds: GO_ZERO_SECONDS, nanos: 0 });
  // A double knows the present to 256 ns only: whole microseconds give back exactly what a millisecond clock said.
  const micros = BigInt(Math.round(ns / 1000));
  const seconds = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  return create(TimestampSchema, { seconds, nanos: Number(micros - seconds * 1_000_000n) * 1000 });
}

/** A protobuf timestamp in nanoseconds since 1970; 0 for Go's zero time and for an absent one. */
export function fromTimestamp(value: Timestamp | undefined): number {
  if (value === undefined || value.seconds === GO_ZERO_SECONDS) return 0;
  return Number(value.seconds * BigInt(NS_PER_SECOND) + BigInt(value.nanos));
}

/** A key of `numbers` for a value, or the fallback for an unknown value. */
export function nameOf<K extends string>(numbers: Readonly<Record<K, number>>, value: number, fallback: NoInfer<K>): K {
  for (const key in numbers) if (numbers[key] === value) return key;
  return fallback;
}
