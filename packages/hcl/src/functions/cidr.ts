import { FunctionError, type HclFunction } from "../eval-types.ts";
import { HclNumber } from "../number.ts";
import { NUMBER, STRING } from "../types.ts";
import type { Value } from "../value.ts";
import { fixed, param, variadic, whole } from "./define.ts";

interface Prefix {
  bits: 32 | 128;
  address: bigint;
  length: number;
}

const fail = (message: string, i: number): never => {
  throw new FunctionError(message, i);
};

const parse4 = (text: string): bigint | undefined => {
  const parts = text.split(".");
  // A leading zero could mean octal elsewhere, so it is refused.
  if (parts.length !== 4 || !parts.every((p) => /^(0|[1-9]\d{0,2})$/.test(p) && Number(p) < 256)) return undefined;
  return parts.reduce((n, p) => (n << 8n) | BigInt(p), 0n);
};

const parse6 = (text: string): bigint | undefined => {
  let rest = text;
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (tail !== null) {
    const four = parse4(tail[2] as string);
    if (four === undefined) return undefined;
    rest = `${tail[1]}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  }
  const halves = rest.split("::");
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((h) => (h === "" ? [] : h.split(":")));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...right];
  if (!groups.every((g) => /^[0-9a-fA-F]{1,4}$/.test(g))) return undefined;
  return groups.reduce((n, g) => (n << 16n) | BigInt(`0x${g}`), 0n);
};

const parsePrefix = (text: string): Prefix => {
  const [address = "", length = "", ...more] = text.split("/");
  const bits = address.includes(":") ? 128 : 32;
  const value = bits === 32 ? parse4(address) : parse6(address);
  if (value === undefined || more.length > 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) {
    return fail(`${JSON.stringify(text)} is no address prefix such as 10.0.0.0/8`, 0);
  }
  return { bits, address: value & mask(bits, Number(length)), length: Number(length) };
};

const mask = (bits: number, length: number): bigint => ((1n << BigInt(length)) - 1n) << BigInt(bits - length);

const text = (bits: number, n: bigint): string => {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((s) => (n >> s) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((n >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  // The longest run of two or more zero groups, the first of equals, is shortened.
  let best = { at: 0, length: 1 };
  for (let i = 0; i < 8; i++) {
    let k = i;
    while (k < 8 && groups[k] === "0") k++;
    if (k - i > best.length) best = { at: i, length: k - i };
  }
  if (best.length < 2) return groups.join(":");
  return `${groups.slice(0, best.at).join(":")}::${groups.slice(best.at + best.length).join(":")}`;
};

const integer = (v: Value, i: number): bigint => {
  const n = HclNumber.of(v as number);
  return n.isInteger() ? n.toBigInt() : fail("a whole number is required", i);
};

const host = (p: Prefix, number: bigint): string => {
  const space = 1n << BigInt(p.bits - p.length);
  if (number >= space || number < -space) fail(`a prefix of ${p.length} bits has no host ${number}`, 1);
  return text(p.bits, p.address | (number < 0n ? space + number : number));
};

const subnet = (p: Prefix, newBits: number, number: bigint): string => {
  const length = p.length + newBits;
  if (newBits < 0) fail("the number of new bits must not be negative", 1);
  if (length > p.bits) fail(`${newBits} more bits do not fit behind ${p.length} of ${p.bits}`, 1);
  if (number < 0n || number >= 1n << BigInt(newBits))
    fail(`${newBits} bits cannot hold the subnet number ${number}`, 2);
  return `${text(p.bits, p.address | (number << BigInt(p.bits - length)))}/${length}`;
};

/** Consecutive subnets of the given sizes. */
const subnets = (args: readonly Value[]): Value => {
  const p = parsePrefix(args[0] as string);
  let at = p.address;
  const end = p.address + (1n << BigInt(p.bits - p.length));
  return args.slice(1).map((_, k) => {
    const bits = whole(args, k + 1);
    const length = p.length + bits;
    if (bits < 1) fail("at least one new bit is needed", k + 1);
    if (length > p.bits) fail(`${bits} more bits do not fit behind ${p.length} of ${p.bits}`, k + 1);
    const size = 1n << BigInt(p.bits - length);
    const start = ((at + size - 1n) / size) * size;
    if (start + size > end) fail("there is no room left for this subnet", k + 1);
    at = start + size;
    return `${text(p.bits, start)}/${length}`;
  });
};

const prefix = param("prefix", STRING);

export const cidrFunctions = (): Readonly<Record<string, HclFunction>> => ({
  cidrhost: fixed([prefix, param("hostnum", NUMBER)], (args) =>
    host(parsePrefix(args[0] as string), integer(args[1] as Value, 1)),
  ),
  cidrnetmask: fixed([prefix], (args) => {
    const p = parsePrefix(args[0] as string);
    return p.bits === 32 ? text(32, mask(32, p.length)) : fail("an IPv6 prefix has no netmask", 0);
  }),
  cidrsubnet: fixed([prefix, param("newbits", NUMBER), param("netnum", NUMBER)], (args) =>
    subnet(parsePrefix(args[0] as string), whole(args, 1), integer(args[2] as Value, 2)),
  ),
  cidrsubnets: variadic([prefix], param("newbits", NUMBER), subnets),
});
