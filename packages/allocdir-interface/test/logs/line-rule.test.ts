import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blindRoom, bytesToTake, LINE_WINDOW_BYTES } from "../../src/logs/line-rule.ts";

const W = LINE_WINDOW_BYTES;

/** Cuts text into files of `maxBytes`, fed in pieces. */
function cut(pieces: readonly Buffer[], maxBytes: number, first = ""): string[] {
  const files = [first];
  for (const piece of pieces) {
    let rest = piece;
    while (rest.length > 0) {
      const text = files.at(-1) as string;
      const fill = { size: text.length, maxBytes, lineStart: text.lastIndexOf("\n") + 1 };
      const blind = blindRoom(fill.size, maxBytes);
      const count = blind > 0 ? Math.min(blind, rest.length) : bytesToTake(rest, fill);
      if (count === 0) {
        files.push("");
        continue;
      }
      files[files.length - 1] = text + rest.toString("latin1", 0, count);
      rest = rest.subarray(count);
    }
  }
  return files;
}

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

describe("where a log file ends", () => {
  it("keeps short lines whole and fills up with long ones, as Nomad's files of 5 bytes", () => {
    expect(cut([bytes("ab\ncdef\n"), bytes("1234567890"), bytes("\n")], 5)).toEqual([
      "ab\n",
      "cdef\n",
      "12345",
      "67890",
      "\n",
    ]);
    expect(cut([bytes("efghijkl")], 5, "abcd")).toEqual(["abcde", "fghij", "kl"]);
  });

  it("fills and splits a line that fits no file, without empty files in between", () => {
    expect(cut([bytes("x\n1234567890123\ny\n")], 5)).toEqual(["x\n123", "45678", "90123", "\ny\n"]);
  });

  it("takes nothing of an empty piece or into a full file", () => {
    expect(bytesToTake(Buffer.alloc(0), { size: 0, maxBytes: 5, lineStart: 0 })).toBe(0);
    expect(bytesToTake(bytes("a"), { size: 5, maxBytes: 5, lineStart: 0 })).toBe(0);
  });

  it("starts no line in the last part of a large file", () => {
    const fill = { size: 3 * W - 100, maxBytes: 3 * W, lineStart: 3 * W - 100 };
    expect(bytesToTake(bytes("y".repeat(50)), fill)).toBe(0);
    expect(bytesToTake(bytes(`${"y".repeat(50)}\nz`), fill)).toBe(51);
    expect(bytesToTake(bytes("y".repeat(50)), { ...fill, size: 2 * W, lineStart: 2 * W })).toBe(50);
    expect(bytesToTake(bytes("y".repeat(500)), { ...fill, lineStart: 2 * W })).toBe(100);
  });

  it("loses and reorders nothing, exceeds no limit, and splits no line of up to 32 KiB in files of 64 KiB and more", () => {
    const line = fc.integer({ min: 0, max: W - 1 }).map((length) => `${"l".repeat(length)}\n`);
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 24 }),
        fc.integer({ min: 2 * W, max: 4 * W }),
        fc.array(fc.integer({ min: 1, max: 2 * W }), { minLength: 1, maxLength: 8 }),
        (lines, maxBytes, sizes) => {
          const text = bytes(lines.join(""));
          const pieces: Buffer[] = [];
          for (let at = 0, i = 0; at < text.length; i++) {
            const size = sizes[i % sizes.length] as number;
            pieces.push(text.subarray(at, at + size));
            at += size;
          }
          const files = cut(pieces, maxBytes);
          expect(files.join("") === text.toString("latin1")).toBe(true);
          for (const file of files) expect(file.length).toBeLessThanOrEqual(maxBytes);
          for (const file of files.slice(0, -1)) expect(file.endsWith("\n")).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });
});
