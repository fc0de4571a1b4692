/** Bytes that a decoder may be given, by the tables of the msgpack format. */
import { describe, expect, it } from "vitest";
import { msgpackFault } from "../src/config/check-msgpack.ts";
import { decodeMsgpack } from "../src/index.ts";

const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(values);
const zeros = (n: number): number[] => Array<number>(n).fill(0);

/** A head, the bytes that follow it, and what it is. */
const FORMS: readonly (readonly [what: string, head: readonly number[], body: number])[] = [
  ["the least number", [0x00], 0],
  ["the largest short number", [0x7f], 0],
  ["the least negative short number", [0xe0], 0],
  ["minus one", [0xff], 0],
  ["an empty map", [0x80], 0],
  ["a map of one", [0x81], 2],
  ["a map of fifteen", [0x8f], 30],
  ["an empty list", [0x90], 0],
  ["a list of fifteen", [0x9f], 15],
  ["an empty text", [0xa0], 0],
  ["a text of 31", [0xbf], 31],
  ["nothing", [0xc0], 0],
  ["false", [0xc2], 0],
  ["true", [0xc3], 0],
  ["bytes with a short length", [0xc4, 3], 3],
  ["bytes with a length of two bytes", [0xc5, 1, 0], 256],
  ["bytes with a length of four bytes", [0xc6, 0, 1, 0, 0], 65_536],
  ["a float", [0xca], 4],
  ["a double", [0xcb], 8],
  ["an unsigned byte", [0xcc], 1],
  ["an unsigned short", [0xcd], 2],
  ["an unsigned word", [0xce], 4],
  ["an unsigned long", [0xcf], 8],
  ["a signed byte", [0xd0], 1],
  ["a signed short", [0xd1], 2],
  ["a signed word", [0xd2], 4],
  ["a signed long", [0xd3], 8],
  ["a text with a short length", [0xd9, 200], 200],
  ["a text with a length of two bytes", [0xda, 1, 2], 258],
  ["a text with a length of four bytes", [0xdb, 0, 1, 0, 1], 65_537],
  ["a list with a length of two bytes", [0xdc, 1, 1], 257],
  ["a list with a length of four bytes", [0xdd, 0, 0, 1, 1], 257],
  ["a map with a length of two bytes", [0xde, 0, 3], 6],
  ["a map with a length of four bytes", [0xdf, 0, 0, 0, 3], 6],
];

describe("the bytes of one value", () => {
  it.each(FORMS)("are %s exactly, neither a byte less nor one more", (what, head, body) => {
    // No value begins with 0xc1: what stands inside of bytes and texts is not looked at, what stands in lists and maps is.
    const opaque = /^(bytes|a text|a float|a double|a signed|an unsigned)/.test(what);
    const whole = [...head, ...(opaque ? Array<number>(body).fill(0xc1) : zeros(body))];
    expect(msgpackFault(bytes(...whole))).toBeUndefined();
    expect(msgpackFault(bytes(...whole, 0))).toBe("has 1 bytes too many");
    for (let cut = 0; cut < Math.min(whole.length, 40); cut++) {
      expect(msgpackFault(bytes(...whole.slice(0, cut))), `${cut} bytes`).toBe("ends early");
    }
    expect(msgpackFault(bytes(...whole.slice(0, -1)))).toBe("ends early");
  });

  it.each([0xc1, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8])("are refused with type %d, told by place", (type) => {
    const hex = type.toString(16);
    expect(msgpackFault(bytes(type, ...zeros(20)))).toBe(
      `has a value of type 0x${hex} at byte 0, which no configuration has`,
    );
    expect(msgpackFault(bytes(0x92, 0x00, type, 0))).toBe(
      `has a value of type 0x${hex} at byte 2, which no configuration has`,
    );
  });

  it("may be a part of a larger buffer", () => {
    const larger = bytes(0xc1, 0xda, 0, 2, 0x61, 0x62, 0xc1);
    expect(msgpackFault(larger.subarray(1, 6))).toBeUndefined();
    expect(decodeMsgpack(larger.subarray(1, 6))).toBe("ab");
  });

  it("nest 128 levels and no more", () => {
    const lists = (n: number): Uint8Array => bytes(...Array<number>(n - 1).fill(0x91), 0x07);
    expect(msgpackFault(lists(128))).toBeUndefined();
    expect(msgpackFault(lists(129))).toBe("is nested deeper than 128");
    const maps = (n: number): Uint8Array => bytes(...Array.from({ length: n - 1 }, () => [0x81, 0x01]).flat(), 0x07);
    expect(msgpackFault(maps(128))).toBeUndefined();
    expect(msgpackFault(maps(129))).toBe("is nested deeper than 128");
    // Beside each other is not inside of each other.
    expect(msgpackFault(bytes(0xdc, 1, 0, ...Array<number>(256).fill(0x90)))).toBeUndefined();
  });

  it("are believed no length that they cannot hold", () => {
    for (const head of [0xdb, 0xdd, 0xdf, 0xc6]) {
      expect(msgpackFault(bytes(head, 0xff, 0xff, 0xff, 0xff, 0))).toBe("ends early");
      expect(() => decodeMsgpack(bytes(head, 0xff, 0xff, 0xff, 0xff, 0))).toThrow("failed to decode driver config: it");
    }
    expect(msgpackFault(bytes(0xdc, 0, 2, 0))).toBe("ends early");
    // The first lie ends it, not the depth that many of them claim.
    const lies = Array.from({ length: 300 }, () => [0xdd, 0xff, 0xff, 0xff, 0xff]).flat();
    expect(msgpackFault(bytes(...lies))).toBe("ends early");
    expect(msgpackFault(bytes(0xde, 0, 1, 0))).toBe("ends early");
  });
});
