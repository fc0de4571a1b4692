import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "../src/host/line-splitter.ts";

type Line = readonly [line: string, piece: boolean];

function split(maxBytes: number, ...chunks: readonly (string | Buffer)[]): Line[] {
  const lines: Line[] = [];
  const splitter = new LineSplitter(maxBytes, (line, piece) => void lines.push([line, piece]));
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return lines;
}

describe("a stream of bytes", () => {
  it("is cut at line ends, wherever its chunks end", () => {
    expect(split(10, "a\nb\r\n", "\n", "c", "d\n", "e")).toEqual([
      ["a", false],
      ["b", false],
      ["", false],
      ["cd", false],
      ["e", false],
    ]);
    expect(split(10, "")).toEqual([]);
    expect(split(10, "a\n")).toEqual([["a", false]]);
  });

  it("is cut within a line that is longer than the limit, and only there", () => {
    expect(split(4, "1234\nx\n")).toEqual([
      ["1234", false],
      ["x", false],
    ]);
    expect(split(4, "12345\nx\n")).toEqual([
      ["1234", true],
      ["5", true],
      ["x", false],
    ]);
    expect(split(4, "12", "34", "56789\nx")).toEqual([
      ["1234", true],
      ["5678", true],
      ["9", true],
      ["x", false],
    ]);
    expect(split(4, "12345678", "\nx")).toEqual([
      ["1234", true],
      ["5678", true],
      ["x", false],
    ]);
    expect(split(4, "12345")).toEqual([
      ["1234", true],
      ["5", true],
    ]);
  });

  it("keeps characters whole across chunks", () => {
    const bytes = Buffer.from("ä€😀\n");
    expect(split(64, ...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual([["ä€😀", false]]);
  });

  it("gives the same lines in any chunks, and no more bytes at once than the limit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "b", "\n", "ccc"), { maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        (parts, max) => {
          const whole = split(max, parts.join(""));
          expect(split(max, ...parts)).toEqual(whole);
          for (const [line] of whole) expect(line.length).toBeLessThanOrEqual(max);
          expect(whole.map(([line]) => line).join("")).toBe(parts.join("").replaceAll("\n", ""));
        },
      ),
    );
  });
});
