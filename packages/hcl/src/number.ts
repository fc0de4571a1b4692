/** Bits of the mantissa: the precision of the language's numbers. */
const PRECISION = 512;
/** Bound of binary exponents, so that no arithmetic makes a number of more than some kilobytes. */
const MAX_EXPONENT = 65_536;
/** Bound of decimal exponents in literals. */
const MAX_DECIMAL_EXPONENT = 10_000;

const bitLength = (m: bigint): number => {
  const hex = m.toString(16);
  return (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex[0] as string, 16)));
};

/**
 * A number that a JavaScript number cannot hold without loss: 512 bits of precision in base 2, like the numbers of the
 * language's reference implementation. Immutable.
 * @public
 */
export class HclNumber {
  readonly #mantissa: bigint;
  readonly #exponent: number;
  #text: string | undefined;

  private constructor(mantissa: bigint, exponent: number) {
    this.#mantissa = mantissa;
    this.#exponent = exponent;
  }

  /** mantissa × 2^exponent, rounded half to even; `sticky` when nonzero bits were cut off below. @internal */
  static make(mantissa: bigint, exponent: number, sticky: boolean = false): HclNumber {
    const negative = mantissa < 0n;
    let m = negative ? -mantissa : mantissa;
    let e = exponent;
    const excess = m === 0n ? 0 : bitLength(m) - PRECISION;
    if (excess > 0) {
      const cut = BigInt(excess);
      const rest = m & ((1n << cut) - 1n);
      const half = 1n << (cut - 1n);
      m >>= cut;
      e += excess;
      if (rest > half || (rest === half && (sticky || (m & 1n) === 1n))) m += 1n;
    }
    if (m === 0n) return new HclNumber(0n, 0);
    while ((m & 0xffffffffn) === 0n) {
      m >>= 32n;
      e += 32;
    }
    while ((m & 1n) === 0n) {
      m >>= 1n;
      e++;
    }
    return new HclNumber(negative ? -m : m, e);
  }

  /**
   * Reads decimal text such as `-12.5e3`.
   * @returns undefined when it is no number or its exponent is beyond ±10,000.
   */
  static parse(text: string): HclNumber | undefined {
    const parts = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
    // Digits beyond what 512 bits can tell apart only cost time.
    if (parts === null || text.length > 100_000) return undefined;
    const fraction = parts[3] ?? "";
    const power = Number(parts[4] ?? 0) - fraction.length;
    if (Math.abs(Number(parts[4] ?? 0)) > MAX_DECIMAL_EXPONENT) return undefined;
    const digits = BigInt((parts[2] as string) + fraction);
    const signed = parts[1] === "-" ? -digits : digits;
    return power >= 0
      ? HclNumber.make(signed * 10n ** BigInt(power), 0)
      : HclNumber.#quotient(signed, 10n ** BigInt(-power), 0);
  }

  /** The exact decimal value of a JavaScript number's shortest text. @internal */
  static of(n: number | HclNumber): HclNumber {
    if (typeof n !== "number") return n;
    if (Number.isSafeInteger(n)) return HclNumber.make(BigInt(n), 0);
    return HclNumber.parse(String(n)) as HclNumber;
  }

  static #quotient(a: bigint, b: bigint, exponent: number): HclNumber {
    const negative = a < 0n !== b < 0n;
    const x = a < 0n ? -a : a;
    const y = b < 0n ? -b : b;
    if (x === 0n) return new HclNumber(0n, 0);
    const shift = Math.max(0, PRECISION + 2 - bitLength(x) + bitLength(y));
    const scaled = x << BigInt(shift);
    const q = scaled / y;
    return HclNumber.make(negative ? -q : q, exponent - shift, scaled % y !== 0n);
  }

  get sign(): -1 | 0 | 1 {
    return this.#mantissa > 0n ? 1 : this.#mantissa < 0n ? -1 : 0;
  }

  /** Whether it is a whole number. */
  isInteger(): boolean {
    return this.#exponent >= 0;
  }

  /** The value without its fraction, exactly. */
  toBigInt(): bigint {
    if (this.#exponent >= 0) return this.#mantissa << BigInt(this.#exponent);
    const m = this.#mantissa;
    const cut = BigInt(-this.#exponent);
    return m < 0n ? -(-m >> cut) : m >> cut;
  }

  /** The nearest JavaScript number. */
  toNumber(): number {
    const m = abs(this.#mantissa);
    if (m === 0n) return 0;
    const cut = Math.max(0, bitLength(m) - 64);
    const top = m >> BigInt(cut);
    // The lowest of the 64 bits stands for all that were cut off, so that the conversion rounds as if it saw them.
    const sticky = cut > 0 && top << BigInt(cut) !== m ? top | 1n : top;
    const scale = this.#exponent + cut;
    const size = Number(sticky);
    // Outside of the normal range the scaling would round again.
    if (scale < -1000 || scale > 900) return Number(this.toString());
    return (this.#mantissa < 0n ? -size : size) * 2 ** scale;
  }

  /** Shortest decimal text that stands for this value, without exponent. */
  toString(): string {
    return (this.#text ??= decimalText(this.#mantissa, this.#exponent));
  }

  /** JSON has one kind of number only; a text keeps the digits. */
  toJSON(): string {
    return this.toString();
  }

  /** @internal */
  negate(): HclNumber {
    return new HclNumber(-this.#mantissa, this.#exponent);
  }

  /** @internal */
  add(other: HclNumber): HclNumber {
    if (this.#mantissa === 0n) return other;
    if (other.#mantissa === 0n) return this;
    // Too far apart to matter: keep the larger instead of shifting by kilobytes.
    const gap = this.#exponent + bitLength(abs(this.#mantissa)) - (other.#exponent + bitLength(abs(other.#mantissa)));
    if (gap > PRECISION * 2 + 2) return this;
    if (gap < -PRECISION * 2 - 2) return other;
    const low = Math.min(this.#exponent, other.#exponent);
    return HclNumber.make(
      (this.#mantissa << BigInt(this.#exponent - low)) + (other.#mantissa << BigInt(other.#exponent - low)),
      low,
    );
  }

  /** @internal undefined when out of range. */
  multiply(other: HclNumber): HclNumber | undefined {
    return inRange(this.#exponent + other.#exponent)
      ? HclNumber.make(this.#mantissa * other.#mantissa, this.#exponent + other.#exponent)
      : undefined;
  }

  /** The divisor must not be zero. @internal */
  divide(other: HclNumber): HclNumber | undefined {
    const e = this.#exponent - other.#exponent;
    return inRange(e) ? HclNumber.#quotient(this.#mantissa, other.#mantissa, e) : undefined;
  }

  /** Remainder with the sign of the dividend; the divisor must not be zero. @internal */
  remainder(other: HclNumber): HclNumber {
    const low = Math.min(this.#exponent, other.#exponent);
    return HclNumber.make(
      (this.#mantissa << BigInt(this.#exponent - low)) % (other.#mantissa << BigInt(other.#exponent - low)),
      low,
    );
  }

  /** @internal */
  compare(other: HclNumber): number {
    const low = Math.min(this.#exponent, other.#exponent);
    const a = this.#mantissa << BigInt(this.#exponent - low);
    const b = other.#mantissa << BigInt(other.#exponent - low);
    return a < b ? -1 : a > b ? 1 : 0;
  }
}

const abs = (m: bigint): bigint => (m < 0n ? -m : m);
const inRange = (exponent: number): boolean => Math.abs(exponent) < MAX_EXPONENT;

/** Shortest digits that round back to m × 2^e among numbers of the precision (free-format digit generation). */
const decimalText = (mantissa: bigint, e: number): string => {
  if (mantissa === 0n) return "0";
  const sign = mantissa < 0n ? "-" : "";
  const m = abs(mantissa);
  const bits = bitLength(m);
  if (e >= 0 && bits + e <= PRECISION) return sign + (m << BigInt(e)).toString();
  // Widen to the full precision: half of the unit in the last place is then 2^(e-1).
  const pad = PRECISION - bits;
  const full = m << BigInt(pad);
  const ulp = e - pad;
  // value = r / s, half a unit up and down = plus / s and minus / s; an even mantissa may use its bounds.
  const boundary = m === 1n || (m & (m - 1n)) === 0n;
  let r = full << 2n;
  let s = 4n;
  let plus = 2n;
  let minus = boundary ? 1n : 2n;
  if (ulp >= 0) {
    r <<= BigInt(ulp);
    plus <<= BigInt(ulp);
    minus <<= BigInt(ulp);
  } else s <<= BigInt(-ulp);
  const even = (full & 1n) === 0n;
  let k = Math.ceil((bits + e) * Math.LOG10E * Math.LN2 - 1e-9);
  if (k >= 0) s *= 10n ** BigInt(k);
  else {
    const scale = 10n ** BigInt(-k);
    r *= scale;
    plus *= scale;
    minus *= scale;
  }
  while (even ? r + plus >= s : r + plus > s) {
    s *= 10n;
    k++;
  }
  while (even ? (r + plus) * 10n < s : (r + plus) * 10n <= s) {
    r *= 10n;
    plus *= 10n;
    minus *= 10n;
    k--;
  }
  let digits = "";
  for (;;) {
    r *= 10n;
    plus *= 10n;
    minus *= 10n;
    const d = r / s;
    r %= s;
    const low = even ? r <= minus : r < minus;
    const high = even ? r + plus >= s : r + plus > s;
    if (!low && !high) {
      digits += d.toString();
      continue;
    }
    digits += (high && !(low && r * 2n < s) ? d + 1n : d).toString();
    break;
  }
  return sign + placePoint(digits, k);
};

/** 0.digits × 10^k without exponent. */
const placePoint = (digits: string, k: number): string => {
  if (k <= 0) return `0.${"0".repeat(-k)}${digits}`;
  return digits.length <= k ? digits + "0".repeat(k - digits.length) : `${digits.slice(0, k)}.${digits.slice(k)}`;
};

/** A JavaScript number if that loses nothing, else the number itself. */
export const simplify = (n: HclNumber): number | HclNumber => {
  const plain = n.toNumber();
  if (Number.isSafeInteger(plain)) {
    if (n.isInteger()) return plain === 0 ? 0 : plain;
  } else if (!Number.isFinite(plain)) return n;
  return HclNumber.parse(String(plain))?.compare(n) === 0 ? plain : n;
};

/** Value of a numeric literal, or undefined if it is none or out of range. */
export const parseNumber = (text: string): number | HclNumber | undefined => {
  if (text.length < 16) {
    const n = Number(text);
    // Up to 15 digits a double and its shortest text agree.
    if (/^-?\d+(\.\d+)?$/.test(text)) return n === 0 ? 0 : n;
  }
  const exact = HclNumber.parse(text);
  return exact === undefined ? undefined : simplify(exact);
};

/** Decimal text without exponent. */
export const numberText = (n: number | HclNumber): string => {
  if (typeof n !== "number") return n.toString();
  if (!Number.isFinite(n)) return n > 0 ? "inf" : n < 0 ? "-inf" : "nan";
  const text = String(n);
  return text.includes("e") ? HclNumber.of(n).toString() : text;
};
