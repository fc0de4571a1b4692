import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LastLines } from "../../src/cli/last-lines.ts";
import { frames } from "../../src/cli/log-frames.ts";

async function all(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const f of frames(
    (async function* () {
      yield* chunks;
    })(),
  ))
    list.push(f);
  return list;
}

describe("log frames", () => {
  it("are found however the body is cut into pieces", async () => {
    const list = [{ Data: "aGk=", File: 'a"}{\\', Offset: 2 }, {}, { FileEvent: "file deleted" }, { File: "ü{" }];
    const body = Buffer.from(list.map((f) => JSON.stringify(f)).join(""));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: body.length }), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), body.length];
        expect(await all(at.slice(1).map((end, i) => body.subarray(at[i], end)))).toEqual(list);
      }),
    );
  });

  it("fail when the body ends inside of one, or never closes one", async () => {
    await expect(all([Buffer.from('{"Data":"')])).rejects.toThrow(/ended inside/);
    await expect(all([Buffer.from(`{"Data":"${"x".repeat(2 ** 21)}`)])).rejects.toThrow(/does not end/);
    await expect(all([Buffer.from(`{${"}".repeat(5000)}`), Buffer.from(`{"a":${"}".repeat(5000)}`)])).rejects.toThrow(
      /no frame/,
    );
    await expect(all([Buffer.from(`{"a":${"}".repeat(5000)}`)])).rejects.toThrow(/does not end/);
  });
});

describe("the last lines of a stream", () => {
  it("are those of the whole text, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a\n", "bb", "\n", "c\nd\n"), { maxLength: 30 }),
        fc.integer({ min: 0, max: 5 }),
        (parts, n) => {
          const keep = new LastLines(n);
          for (const part of parts) keep.add(Buffer.from(part));
          const text = parts.join("");
          const ended = text.endsWith("\n");
          const lines = (ended ? text.slice(0, -1) : text).split("\n");
          const expected = n === 0 || text === "" ? "" : lines.slice(-n).join("\n") + (ended ? "\n" : "");
          expect(keep.take().toString()).toBe(expected);
        },
      ),
    );
  });
});
