import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeRecord, scanJournal } from "../../src/state/journal-format.ts";

const payloads = fc.array(fc.string({ minLength: 1, unit: "grapheme" }), { minLength: 1, maxLength: 8 });

it("reads back every record that was written", () => {
  fc.assert(
    fc.property(payloads, (texts) => {
      const scan = scanJournal(Buffer.concat(texts.map(encodeRecord)));
      expect(scan.records.map((r) => r.payload)).toEqual(texts.map((t) => Buffer.from(t).toString()));
      expect(scan).toMatchObject({ damage: [], tornBytes: 0 });
    }),
  );
});

it("keeps every whole record before a cut, whatever the cut leaves behind", () => {
  fc.assert(
    fc.property(
      payloads,
      fc.nat(),
      fc.constantFrom("cut", "zero", "garbage"),
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
      (texts, where, kind, junk) => {
        const parts = texts.map(encodeRecord);
        const all = Buffer.concat(parts);
        const at = where % all.length;
        const tail =
          kind === "cut" ? Buffer.alloc(0) : kind === "zero" ? Buffer.alloc(all.length - at) : Buffer.from(junk);
        const scan = scanJournal(Buffer.concat([all.subarray(0, at), tail]));
        let whole = 0;
        let end = 0;
        for (const part of parts) {
          if (end + part.length > at) break;
          end += part.length;
          whole++;
        }
        expect(scan.records.length).toBeGreaterThanOrEqual(whole);
        // Random bytes may by chance complete the record they replaced; nothing else may appear.
        expect(scan.records.slice(0, whole).map((r) => r.payload)).toEqual(
          texts.slice(0, whole).map((t) => Buffer.from(t).toString()),
        );
        expect(scan.records.length).toBeLessThanOrEqual(whole + 1);
      },
    ),
    { numRuns: 400 },
  );
});

it("finds the records behind one flipped byte", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1 }), { minLength: 3, maxLength: 8 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (texts, where, flip) => {
        const parts = texts.map(encodeRecord);
        const all = Buffer.concat(parts);
        const at = where % (all.length - parts.at(-1)!.length);
        all[at] = all[at]! ^ flip;
        const scan = scanJournal(all);
        expect(scan.records).toHaveLength(texts.length - 1);
        expect(scan.damage).toHaveLength(1);
        expect(scan.records.at(-1)!.payload).toBe(texts.at(-1));
      },
    ),
  );
});
