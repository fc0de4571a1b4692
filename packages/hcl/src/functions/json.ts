import { isList, isMap, sortedEntries } from "../compare.ts";
import { FunctionError } from "../eval-types.ts";
import { numberText, parseNumber } from "../number.ts";
import type { Value } from "../value.ts";

const MAX_DEPTH = 500;

const quote = (text: string): string =>
  JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** JSON text: keys sorted, no blanks, numbers with all their digits, `<`, `>` and `&` escaped. */
export const encodeJson = (v: Value): string => {
  if (v === null || typeof v === "boolean") return String(v);
  if (typeof v === "string") return quote(v);
  if (isList(v)) return `[${v.map(encodeJson).join()}]`;
  if (isMap(v))
    return `{${sortedEntries(v)
      .map(([k, x]) => `${quote(k)}:${encodeJson(x)}`)
      .join()}}`;
  if (typeof v === "number" && !Number.isFinite(v)) throw new FunctionError("an infinite number has no JSON", 0);
  return numberText(v);
};

/** Parses JSON; numbers keep their digits, and nesting is bounded. */
export const decodeJson = (text: string): Value => new JsonReader(text).document();

class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Value {
    const value = this.#value();
    this.#blanks();
    if (this.#at < this.#text.length) this.#fail("extra characters behind the value");
    return value;
  }

  #fail(what: string): never {
    throw new FunctionError(
      this.#at >= this.#text.length
        ? "the JSON text ends too early"
        : `invalid JSON at character ${this.#at + 1}: ${what}`,
      undefined,
    );
  }

  #blanks(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #take(char: string): boolean {
    this.#blanks();
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #value(): Value {
    this.#blanks();
    if (++this.#depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH} levels`);
    const c = this.#text[this.#at];
    const value = c === "{" ? this.#object() : c === "[" ? this.#array() : c === '"' ? this.#string() : this.#word();
    this.#depth--;
    return value;
  }

  #object(): Value {
    this.#at++;
    const map = new Map<string, Value>();
    if (this.#take("}")) return map;
    do {
      this.#blanks();
      if (this.#text[this.#at] !== '"') this.#fail("a key in quotes is expected");
      const key = this.#string();
      if (!this.#take(":")) this.#fail('":" is expected');
      map.set(key, this.#value());
    } while (this.#take(","));
    if (!this.#take("}")) this.#fail('"," or "}" is expected');
    return map;
  }

  #array(): Value {
    this.#at++;
    const list: Value[] = [];
    if (this.#take("]")) return list;
    do list.push(this.#value());
    while (this.#take(","));
    if (!this.#take("]")) this.#fail('"," or "]" is expected');
    return list;
  }

  #string(): string {
    const from = this.#at;
    let i = from + 1;
    while (i < this.#text.length && this.#text[i] !== '"') i += this.#text[i] === "\\" ? 2 : 1;
    if (i >= this.#text.length) {
      this.#at = this.#text.length;
      this.#fail("");
    }
    try {
      const value = JSON.parse(this.#text.slice(from, i + 1)) as string;
      this.#at = i + 1;
      return value;
    } catch {
      return this.#fail("the string is not valid");
    }
  }

  #word(): Value {
    const rest = /[-+.\w]*/y;
    rest.lastIndex = this.#at;
    const word = rest.exec(this.#text)?.[0] ?? "";
    const known: Record<string, Value> = { true: true, false: false, null: null };
    const value = Object.hasOwn(known, word)
      ? known[word]
      : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(word)
        ? parseNumber(word)
        : undefined;
    if (value === undefined) this.#fail("a value is expected");
    this.#at += word.length;
    return value;
  }
}
