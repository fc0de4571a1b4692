import { parseNumber } from "../number.ts";
import { toText } from "../convert.ts";
import type { Value } from "../value.ts";

const MAX_DEPTH = 200;

/** The value of an unquoted scalar: null, a bool, a number or a text. */
export const plainScalar = (text: string): Value => {
  if (text === "" || text === "~" || /^(null|Null|NULL)$/.test(text)) return null;
  if (/^(true|True|TRUE)$/.test(text)) return true;
  if (/^(false|False|FALSE)$/.test(text)) return false;
  if (/^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text)) {
    const number = parseNumber(
      text
        .replace(/^\+/, "")
        .replace(/^(-?)\./, "$10.")
        .replace(/\.(?=$|[eE])/, ""),
    );
    if (number !== undefined) return number;
  }
  if (/^0x[0-9a-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return parseNumber(BigInt(text).toString()) ?? text;
  return text;
};

const ESCAPES: Record<string, string> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
};

/** Reads quoted scalars and flow collections. */
export class FlowReader {
  readonly #text: string;
  readonly #fail: (message: string) => never;
  #at = 0;
  #depth = 0;

  constructor(text: string, fail: (message: string) => never) {
    this.#text = text;
    this.#fail = fail;
  }

  /** Only blanks and a comment may follow. */
  finish(): void {
    const rest = this.#text.slice(this.#at).trim();
    if (rest !== "" && !(rest.startsWith("#") && /\s/.test(this.#text[this.#at] as string)))
      this.#fail("extra characters behind a value");
  }

  /** The next value, or undefined if the text ends in it. */
  value(): { value: Value } | undefined {
    this.#blanks();
    if (++this.#depth > MAX_DEPTH) return this.#fail(`nested deeper than ${MAX_DEPTH} levels`);
    const c = this.#text[this.#at];
    const value =
      c === undefined
        ? undefined
        : c === '"'
          ? this.#double()
          : c === "'"
            ? this.#single()
            : c === "["
              ? this.#list()
              : c === "{"
                ? this.#map()
                : { value: this.#plain() };
    this.#depth--;
    return value;
  }

  #blanks(): void {
    for (;;) {
      while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
      if (this.#text[this.#at] !== "#" || !/\s/.test(this.#text[this.#at - 1] ?? "")) return;
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end === -1 ? this.#text.length : end;
    }
  }

  #plain(): Value {
    const match = /[^,[\]{}\n:#]+(?:(?::(?=[^\s,[\]{}])|(?<=\S)#)[^,[\]{}\n:#]*)*/y;
    match.lastIndex = this.#at;
    const text = match.exec(this.#text)?.[0] ?? this.#fail("a value is expected");
    if (/^[&*!|>@`%]/.test(text)) this.#fail("this kind of value is not supported");
    this.#at += text.length;
    return plainScalar(text.trim());
  }

  #double(): { value: Value } | undefined {
    let out = "";
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      const c = this.#text[i] as string;
      if (c === '"') {
        this.#at = i + 1;
        return { value: folded(out) };
      }
      if (c !== "\\") {
        out += c;
        continue;
      }
      const selector = this.#text[++i];
      if (selector === undefined) return undefined;
      const size = selector === "x" ? 2 : selector === "u" ? 4 : selector === "U" ? 8 : 0;
      if (size > 0) {
        const hex = this.#text.slice(i + 1, i + 1 + size);
        const point = Number.parseInt(hex, 16);
        if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < size || point > 0x10ffff) this.#fail("an escape is not valid");
        out += String.fromCodePoint(point);
        i += size;
      } else if (selector !== "\n") {
        const plain = Object.hasOwn(ESCAPES, selector) ? ESCAPES[selector] : undefined;
        // A line end made by an escape is not folded.
        out += plain === undefined ? this.#fail(`\\${selector} is no escape`) : plain === "\n" ? KEPT : plain;
      }
    }
    return undefined;
  }

  #single(): { value: Value } | undefined {
    const match = /'((?:[^']|'')*)'(?!')/y;
    match.lastIndex = this.#at;
    const found = match.exec(this.#text);
    if (found === null) return undefined;
    this.#at += found[0].length;
    return { value: folded((found[1] as string).replaceAll("''", "'")) };
  }

  #list(): { value: Value } | undefined {
    this.#at++;
    const items: Value[] = [];
    for (;;) {
      this.#blanks();
      if (this.#at >= this.#text.length) return undefined;
      if (this.#text[this.#at] === "]") break;
      const item = this.value();
      if (item === undefined) return undefined;
      items.push(item.value);
      this.#blanks();
      if (this.#text[this.#at] === ",") this.#at++;
      else if (this.#at < this.#text.length && this.#text[this.#at] !== "]") this.#fail('"," or "]" is expected');
    }
    this.#at++;
    return { value: items };
  }

  #map(): { value: Value } | undefined {
    this.#at++;
    const map = new Map<string, Value>();
    for (;;) {
      this.#blanks();
      if (this.#at >= this.#text.length) return undefined;
      if (this.#text[this.#at] === "}") break;
      const key = this.value();
      if (key === undefined) return undefined;
      let item: { value: Value } | undefined = { value: null };
      this.#blanks();
      if (this.#text[this.#at] === ":") {
        this.#at++;
        this.#blanks();
        if (this.#text[this.#at] !== "," && this.#text[this.#at] !== "}") item = this.value();
      }
      if (item === undefined) return undefined;
      map.set(toText(key.value) ?? this.#fail("a key is a scalar"), item.value);
      this.#blanks();
      if (this.#text[this.#at] === ",") this.#at++;
      else if (this.#at < this.#text.length && this.#text[this.#at] !== "}") this.#fail('"," or "}" is expected');
    }
    this.#at++;
    return { value: map };
  }
}

/** Stands for an escaped line end while the others are folded. */
const KEPT = "\ue000\ue001";

/** Line ends in a quoted scalar are blanks, empty lines are line ends. */
const folded = (text: string): string =>
  text
    .replace(/[ \t]*\n(\s*\n)?[ \t]*/g, (all) =>
      (all.match(/\n/g)?.length ?? 1) > 1 ? "\n".repeat((all.match(/\n/g)?.length ?? 1) - 1) : " ",
    )
    .replaceAll(KEPT, "\n");
