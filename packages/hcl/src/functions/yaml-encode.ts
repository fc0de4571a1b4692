import { isList, isMap, sortedEntries } from "../compare.ts";
import { numberText } from "../number.ts";
import type { Value } from "../value.ts";

const quote = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A text of several lines as a literal block; any other one in quotes. */
const scalar = (v: Value, indent: string): string => {
  if (typeof v !== "string") return v === null || typeof v === "boolean" ? String(v) : numberText(v as number);
  if (!v.includes("\n") || /^[\s]|[^\P{C}\n]|\u2028|\u2029/u.test(v)) return quote(v);
  const chomping = !v.endsWith("\n") ? "-" : v.endsWith("\n\n") ? "+" : "";
  const lines = (chomping === "-" ? v : v.slice(0, -1)).split("\n");
  return `|${chomping}\n${lines.map((l) => (l === "" ? "" : `${indent}  ${l}`)).join("\n")}`;
};

const isBlock = (v: Value): boolean => (isList(v) ? v.length > 0 : v !== null && isMap(v) && v.size > 0);

const inline = (v: Value, indent: string): string =>
  isList(v) ? "[]" : v !== null && isMap(v) ? "{}" : scalar(v, indent);

/** Lines of a collection at an indentation. */
const block = (v: Value, indent: string): string[] => {
  if (isList(v)) {
    return v.flatMap((item) => {
      if (!isBlock(item)) return [`${indent}- ${inline(item, indent)}`];
      const [first = "", ...rest] = block(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return sortedEntries(v as ReadonlyMap<string, Value>).flatMap(([key, item]) => {
    if (!isBlock(item)) return [`${indent}${quote(key)}: ${inline(item, indent)}`];
    // A list under a key stands at the key's own indentation.
    return [`${indent}${quote(key)}:`, ...block(item, isList(item) ? indent : `${indent}  `)];
  });
};

/** YAML with sorted keys, and strings in quotes. */
export const encodeYaml = (v: Value): string => `${isBlock(v) ? block(v, "").join("\n") : inline(v, "")}\n`;
