import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BROKEN_EXPRESSIONS, BROKEN_FILES } from "./messages.inputs.ts";
import { toldOfExpression, toldOfFile } from "./messages.ts";

const told = JSON.parse(readFileSync(new URL("./fixtures/messages.json", import.meta.url), "utf8")) as {
  files: Record<string, string[]>;
  expressions: Record<string, string[]>;
};

describe("what is said of broken texts: code, places, summary and detail", () => {
  it.each(BROKEN_FILES)("file %j", (text) => {
    expect(toldOfFile(text)).not.toEqual([]);
    expect(toldOfFile(text)).toEqual(told.files[text]);
  });

  it.each(BROKEN_EXPRESSIONS)("expression %j", (text) => {
    expect(toldOfExpression(text)).not.toEqual([]);
    expect(toldOfExpression(text)).toEqual(told.expressions[text]);
  });

  it("the list of messages has no other texts", () => {
    expect(Object.keys(told.files).sort()).toEqual([...BROKEN_FILES].sort());
    expect(Object.keys(told.expressions).sort()).toEqual([...BROKEN_EXPRESSIONS].sort());
  });
});
