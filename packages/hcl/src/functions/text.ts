import { FunctionError, type HclFunction } from "../eval-types.ts";
import { listOf, NUMBER, STRING } from "../types.ts";
import { compareText } from "../compare.ts";
import type { Value } from "../value.ts";
import { clusters, fixed, param, variadic, whole } from "./define.ts";
import { formatList, formatText } from "./format.ts";
import { replacePattern } from "./pattern.ts";

const str = param("str", STRING);
const of = (f: (text: string) => Value): HclFunction => fixed([str], ([s]) => f(s as string));

const cutset = (text: string, set: string): string => {
  const chars = new Set(set);
  const points = Array.from(text);
  let from = 0;
  let to = points.length;
  while (from < to && chars.has(points[from] as string)) from++;
  while (to > from && chars.has(points[to - 1] as string)) to--;
  return points.slice(from, to).join("");
};

/** First letter of every word in upper case; a word begins behind anything that is no letter, digit, underscore or apostrophe. */
const title = (text: string): string => text.replace(/(?<![\p{L}\p{N}_'])\p{L}/gu, (c) => c.toUpperCase());

const substr = (text: string, offset: number, length: number): string => {
  const parts = clusters(text);
  const from = offset < 0 ? Math.max(0, parts.length + offset) : offset;
  return parts.slice(from, length < 0 ? undefined : from + length).join("");
};

export const textFunctions = (): Readonly<Record<string, HclFunction>> => ({
  chomp: of((s) => s.replace(/[\r\n]+$/, "")),
  format: variadic([param("format", STRING)], param("args", "dynamic", true), ([f, ...args], c) =>
    formatText(f as string, args, c),
  ),
  formatlist: variadic([param("format", STRING)], param("args", "dynamic", true), ([f, ...args], c) =>
    formatList(f as string, args, c),
  ),
  indent: fixed([param("spaces", NUMBER), str], (args, c) => {
    const spaces = whole(args, 0);
    if (spaces < 0) throw new FunctionError("the number of spaces must not be negative", 0);
    const lines = (args[1] as string).split("\n");
    c.charge(lines.length, spaces * (lines.length - 1));
    return lines.join(`\n${" ".repeat(spaces)}`);
  }),
  join: variadic(
    [param("separator", STRING), param("lists", listOf(STRING))],
    param("lists", listOf(STRING)),
    ([separator, ...lists], c) => {
      const items = (lists as string[][]).flat();
      const at = (lists as Value[][]).findIndex((l) => l.includes(null));
      if (at !== -1) throw new FunctionError("an item is null", at + 1);
      c.charge(items.length, (separator as string).length * items.length);
      return items.join(separator as string);
    },
  ),
  lower: of((s) => s.toLowerCase()),
  regex_replace: fixed([str, param("pattern", STRING), param("replace", STRING)], ([s, pattern, by], c) =>
    replacePattern(s as string, pattern as string, by as string, c),
  ),
  replace: fixed([str, param("substr", STRING), param("replace", STRING)], ([s, what, by], c) => {
    const pieces = (what as string) === "" ? ["", ...Array.from(s as string), ""] : (s as string).split(what as string);
    c.charge(pieces.length, pieces.length * (by as string).length);
    return pieces.join(by as string);
  }),
  sort: fixed([param("list", listOf(STRING))], ([list], c) => {
    if ((list as Value[]).includes(null)) throw new FunctionError("an item is null", 0);
    c.charge((list as Value[]).length * 4);
    return [...(list as string[])].sort(compareText);
  }),
  split: fixed([param("separator", STRING), str], ([separator, s], c) => {
    const parts = (separator as string) === "" ? Array.from(s as string) : (s as string).split(separator as string);
    c.charge(parts.length, parts.length);
    return parts;
  }),
  strlen: of((s) => clusters(s).length),
  strrev: of((s) => clusters(s).reverse().join("")),
  substr: fixed([str, param("offset", NUMBER), param("length", NUMBER)], (args) =>
    substr(args[0] as string, whole(args, 1), whole(args, 2)),
  ),
  title: of(title),
  trim: fixed([str, param("cutset", STRING)], ([s, set]) => cutset(s as string, set as string)),
  trimprefix: fixed([str, param("prefix", STRING)], ([s, prefix]) =>
    (s as string).startsWith(prefix as string) ? (s as string).slice((prefix as string).length) : (s as string),
  ),
  trimspace: of((s) => s.trim()),
  trimsuffix: fixed([str, param("suffix", STRING)], ([s, suffix]) =>
    suffix !== "" && (s as string).endsWith(suffix as string)
      ? (s as string).slice(0, -(suffix as string).length)
      : (s as string),
  ),
  upper: of((s) => s.toUpperCase()),
});
