/** msgpack of configuration values, byte for byte as Nomad's encoder writes them. */
import { HclNumber, numberText, type Value } from "@outrider/hcl";

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Grows as it is written: take the place first, the buffer may be another one afterwards. */
class Writer {
  #buffer = Buffer.allocUnsafe(256);
  #size = 0;

  byte(value: number): void {
    const at = this.#reserve(1);
    this.#buffer[at] = value;
  }

  uint(value: number, bytes: 1 | 2 | 4): void {
    const at = this.#reserve(bytes);
    this.#buffer.writeUIntBE(value, at, bytes);
  }

  int64(value: bigint): void {
    const at = this.#reserve(8);
    this.#buffer.writeBigInt64BE(value, at);
  }

  double(value: number): void {
    const at = this.#reserve(8);
    this.#buffer.writeDoubleBE(value, at);
  }

  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#buffer.set(value, at);
  }

  finish(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#size));
  }

  #reserve(bytes: number): number {
    const at = this.#size;
    this.#size += bytes;
    if (this.#size > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#size, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    return at;
  }
}

/** A header byte with the length in it, or a longer form. */
function header(
  w: Writer,
  length: number,
  fix: number,
  fixMax: number,
  codes: readonly [number | undefined, number, number],
): void {
  const [one, two, four] = codes;
  if (length <= fixMax) w.byte(fix | length);
  else if (one !== undefined && length <= 0xff) {
    w.byte(one);
    w.uint(length, 1);
  } else if (length <= 0xffff) {
    w.byte(two);
    w.uint(length, 2);
  } else {
    w.byte(four);
    w.uint(length, 4);
  }
}

function writeText(w: Writer, text: string): void {
  const bytes = Buffer.from(text.normalize("NFC"), "utf8");
  header(w, bytes.length, 0xa0, 31, [0xd9, 0xda, 0xdb]);
  w.bytes(bytes);
}

/** A code byte and the integer after it. */
function coded(w: Writer, code: number, value: number, bytes: 1 | 2 | 4): void {
  w.byte(code);
  w.uint(value, bytes);
}

function writeInteger(w: Writer, value: bigint): void {
  const small = Number(value);
  if (value > 0xffff_ffffn || value < -0x8000_0000n) {
    w.byte(value > 0n ? 0xcf : 0xd3);
    w.int64(value);
  } else if (small >= 0x80) {
    if (small <= 0xff) coded(w, 0xcc, small, 1);
    else if (small <= 0xffff) coded(w, 0xcd, small, 2);
    else coded(w, 0xce, small, 4);
  } else if (small >= -32) w.byte(small & 0xff);
  else if (small >= -0x80) coded(w, 0xd0, small & 0xff, 1);
  else if (small >= -0x8000) coded(w, 0xd1, small & 0xffff, 2);
  else coded(w, 0xd2, small >>> 0, 4);
}

/** Whether a decimal text without exponent is exactly a double. */
function isExactDouble(text: string): boolean {
  const [, whole = "", fraction = ""] = /^-?(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  let mantissa = BigInt(whole + fraction);
  for (let i = 0; i < fraction.length; i++) {
    // m / 10^n is a dyadic fraction only when 5^n divides m.
    if (mantissa % 5n !== 0n) return false;
    mantissa /= 5n;
  }
  while (mantissa !== 0n && mantissa % 2n === 0n) mantissa /= 2n;
  return mantissa < 2n ** 53n;
}

function writeNumber(w: Writer, value: number | HclNumber): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    w.byte(0xcb);
    w.double(value);
    return;
  }
  const text = numberText(value);
  if (!text.includes(".")) {
    const integer = BigInt(text);
    if (integer <= MAX_INT64 && integer >= MIN_INT64) writeInteger(w, integer);
    else writeText(w, text);
    return;
  }
  if (!isExactDouble(text)) return writeText(w, text);
  w.byte(0xcb);
  w.double(Number(text));
}

function write(w: Writer, value: Value): void {
  if (value === null) w.byte(0xc0);
  else if (typeof value === "boolean") w.byte(value ? 0xc3 : 0xc2);
  else if (typeof value === "string") writeText(w, value);
  else if (typeof value === "number" || value instanceof HclNumber) writeNumber(w, value);
  else if (Array.isArray(value)) {
    header(w, value.length, 0x90, 15, [undefined, 0xdc, 0xdd]);
    for (const item of value as readonly Value[]) write(w, item);
  } else {
    const entries = [...(value as ReadonlyMap<string, Value>)].map(([key, item]) => ({
      item,
      key: key.normalize("NFC"),
      bytes: Buffer.from(key.normalize("NFC"), "utf8"),
    }));
    entries.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    header(w, entries.length, 0x80, 15, [undefined, 0xde, 0xdf]);
    for (const { key, item } of entries) {
      writeText(w, key);
      write(w, item);
    }
  }
}

/** Encodes a value with its own type: numbers that are no exact 64-bit integer or double travel as decimal text. */
export function encodeValue(value: Value): Uint8Array {
  const w = new Writer();
  write(w, value);
  return w.finish();
}
