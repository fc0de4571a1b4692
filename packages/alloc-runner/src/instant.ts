const FORM = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * An instant as integer nanoseconds since 1970, so that two spellings of one instant are equal. Takes the forms that Nomad's JSON has:
 * RFC 3339 text, a number of nanoseconds, or nothing. The year 1, which stands for "not set", is undefined; so is what cannot be read.
 */
export function instantNs(value: string | number | bigint | null | undefined): bigint | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined;
  const parts = FORM.exec(value);
  if (parts === null || value.startsWith("0001-01-01T00:00:00")) return undefined;
  const seconds = Date.parse(`${parts[1] as string}${parts[3] as string}`);
  if (Number.isNaN(seconds)) return undefined;
  return BigInt(seconds) * 1_000_000n + BigInt((parts[2] ?? "").padEnd(9, "0"));
}
