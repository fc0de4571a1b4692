import { expect, it } from "vitest";
import { copyPlain } from "../src/copy-plain.ts";

it("copies lists and objects in all depths, and takes the rest as it is", () => {
  const value = { list: [1, { text: "a" }], nothing: null, empty: {}, missing: undefined, no: false };
  const copy = copyPlain(value);
  expect(copy).toEqual(value);
  expect(copy).not.toBe(value);
  expect(copy.list).not.toBe(value.list);
  expect(copy.list[1]).not.toBe(value.list[1]);
  expect(copy.empty).not.toBe(value.empty);
  expect(copyPlain("x")).toBe("x");
});
