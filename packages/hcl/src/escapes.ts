import type { ParserState } from "./parser-state.ts";

const SIMPLE: Record<string, string> = { n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\" };

/** `$${` and `%%{` stand for `${` and `%{`. */
export const unescapeMarkers = (text: string): string =>
  text.includes("{") ? text.replaceAll("$${", () => "${").replaceAll("%%{", () => "%{") : text;

/** Text of a quoted string between two offsets, with escapes resolved. A wrong one is reported and left as it stands. */
export const decodeEscapes = (p: ParserState, from: number, to: number): string => {
  const raw = p.text.slice(from, to);
  if (!raw.includes("\\")) return unescapeMarkers(raw);
  let out = "";
  let plain = 0;
  for (let i = raw.indexOf("\\"); i !== -1 && i < raw.length; i = raw.indexOf("\\", i)) {
    out += unescapeMarkers(raw.slice(plain, i));
    const selector = raw[i + 1] ?? "";
    const simple = SIMPLE[selector];
    let length = 2;
    if (simple !== undefined) out += simple;
    else if (selector === "u" || selector === "U") {
      const digits = selector === "u" ? 4 : 8;
      const hex = /^[0-9a-fA-F]*/.exec(raw.slice(i + 2, i + 2 + digits))?.[0] ?? "";
      length = 2 + hex.length;
      out += codePoint(p, from + i, hex, digits);
    } else {
      const size = selector >= "\ud800" && selector <= "\udbff" ? 2 : 1;
      length = 1 + size;
      out += raw.slice(i, i + length);
      p.report(
        "invalid-escape",
        "Invalid escape",
        `${JSON.stringify(raw.slice(i, i + length))} is no escape; there are \\n \\r \\t \\" \\\\ \\uNNNN and \\UNNNNNNNN.`,
        p.between(from + i, from + i + length),
      );
    }
    i += length;
    plain = i;
  }
  return out + unescapeMarkers(raw.slice(plain));
};

const codePoint = (p: ParserState, at: number, hex: string, digits: number): string => {
  const range = p.between(at, at + 2 + hex.length);
  if (hex.length < digits) {
    p.report(
      "invalid-escape",
      "Invalid escape",
      `\\${digits === 4 ? "u" : "U"} needs ${digits} hexadecimal digits.`,
      range,
    );
    return "";
  }
  const point = Number.parseInt(hex, 16);
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    p.report("invalid-escape", "Invalid escape", `U+${hex} is not a character.`, range);
    return "";
  }
  return String.fromCodePoint(point);
};
