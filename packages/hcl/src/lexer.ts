import type { Source } from "./source.ts";
import { T, TokenBuffer, type Tokens } from "./tokens.ts";

const HT = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const QUOTE = 34;
const DOLLAR = 36;
const PERCENT = 37;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;
const TILDE = 126;

const ID_START = /\p{ID_Start}/u;
const ID_CONTINUE = /\p{ID_Continue}/u;

const isDigit = (c: number): boolean => c >= 48 && c <= 57;
const isAsciiStart = (c: number): boolean => (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95;
const isAsciiPart = (c: number): boolean => isAsciiStart(c) || isDigit(c) || c === 45;

const single: Record<string, number> = {
  "[": T.OpenBracket,
  "]": T.CloseBracket,
  "(": T.OpenParen,
  ")": T.CloseParen,
  "=": T.Equal,
  ":": T.Colon,
  ",": T.Comma,
  ".": T.Dot,
  "?": T.Question,
  "!": T.Bang,
  "*": T.Star,
  "/": T.Slash,
  "%": T.Percent,
  "+": T.Plus,
  "-": T.Minus,
  "<": T.Less,
  ">": T.Greater,
};

/** Second characters of the operators of two, by the first one. */
const double: Record<string, Record<string, number>> = {
  "=": { "=": T.EqualEqual, ">": T.FatArrow },
  "!": { "=": T.NotEqual },
  "<": { "=": T.LessEqual },
  ">": { "=": T.GreaterEqual },
  "&": { "&": T.And },
  "|": { "|": T.Or },
  ":": { ":": T.DoubleColon },
};

const SINGLE = new Uint8Array(128);
for (const [text, kind] of Object.entries(single)) SINGLE[text.charCodeAt(0)] = kind;
const DOUBLE = new Map(
  Object.entries(double).map(([first, second]) => [
    first.charCodeAt(0),
    new Map(Object.entries(second).map(([c, kind]) => [c.charCodeAt(0), kind])),
  ]),
);

/** What encloses the text at the cursor. */
type Mode =
  /** Expressions; `braces` open braces of this level. */
  { kind: "normal"; braces: number } | { kind: "quoted" } | { kind: "heredoc"; marker: string; lineStart: boolean };

/** Cuts a source into tokens. It never fails: what is not of the language becomes an Invalid or Broken token. */
export class Lexer {
  readonly #text: string;
  readonly #bad: ReadonlySet<number>;
  readonly #out: TokenBuffer;
  readonly #modes: Mode[] = [{ kind: "normal", braces: 0 }];
  #at = 0;

  constructor(source: Source) {
    this.#text = source.text;
    this.#bad = new Set(source.bad);
    this.#out = new TokenBuffer(Math.max(64, source.text.length >> 2));
  }

  run(template: boolean = false): Tokens {
    const length = this.#text.length;
    // A bare template is lexed like a heredoc whose marker never comes.
    if (template) this.#modes.push({ kind: "heredoc", marker: "", lineStart: false });
    while (this.#at < length) {
      const mode = this.#modes[this.#modes.length - 1] as Mode;
      if (mode.kind === "normal") this.#normal(mode);
      else if (mode.kind === "quoted") this.#quoted();
      else this.#heredoc(mode);
    }
    this.#out.push(T.Eof, length, length);
    return this.#out;
  }

  #emit(kind: number, end: number): void {
    this.#out.push(kind, this.#at, end);
    this.#at = end;
  }

  #normal(mode: { braces: number }): void {
    const text = this.#text;
    const at = this.#at;
    const c = text.charCodeAt(at);
    if (c === SPACE || c === HT) {
      let i = at + 1;
      for (let d = text.charCodeAt(i); d === SPACE || d === HT; d = text.charCodeAt(i)) i++;
      this.#at = i;
    } else if (isAsciiStart(c) || c > 0x7f) this.#ident(c);
    else if (c === LF) this.#emit(T.Newline, at + 1);
    else if (c === CR && text.charCodeAt(at + 1) === LF) this.#emit(T.Newline, at + 2);
    else if (isDigit(c)) this.#number();
    else if (c === QUOTE) {
      this.#emit(T.OpenQuote, at + 1);
      this.#modes.push({ kind: "quoted" });
    } else if (c === OPEN) {
      mode.braces++;
      this.#emit(T.OpenBrace, at + 1);
    } else if (c === CLOSE) {
      if (mode.braces === 0 && this.#modes.length > 1) {
        this.#modes.pop();
        this.#emit(T.SequenceEnd, at + 1);
        return;
      }
      if (mode.braces > 0) mode.braces--;
      this.#emit(T.CloseBrace, at + 1);
    } else if (c === TILDE && text.charCodeAt(at + 1) === CLOSE && mode.braces === 0 && this.#modes.length > 1) {
      this.#modes.pop();
      this.#emit(T.SequenceEnd, at + 2);
    } else if (!this.#comment(c) && !this.#heredocStart(c)) this.#operator(c);
  }

  #ident(first: number): void {
    const text = this.#text;
    let i = this.#at;
    if (first > 0x7f) {
      const point = text.codePointAt(i) as number;
      if (this.#bad.has(i)) return this.#emit(T.Broken, i + 1);
      const size = point > 0xffff ? 2 : 1;
      if (!ID_START.test(String.fromCodePoint(point))) return this.#emit(T.Invalid, i + size);
      i += size;
    } else i++;
    for (;;) {
      const c = text.charCodeAt(i);
      if (isAsciiPart(c)) i++;
      else if (c > 0x7f && !this.#bad.has(i)) {
        const point = text.codePointAt(i) as number;
        if (!ID_CONTINUE.test(String.fromCodePoint(point))) break;
        i += point > 0xffff ? 2 : 1;
      } else break;
    }
    this.#emit(T.Ident, i);
  }

  #number(): void {
    const text = this.#text;
    let i = this.#at;
    // Repeated fractions and exponents are taken too: `1.2.3` is one wrong number, not two right ones.
    for (;;) {
      const c = text.charCodeAt(i);
      if (isDigit(c)) i++;
      else if (c === 46 && isDigit(text.charCodeAt(i + 1))) i += 2;
      else if (c === 101 || c === 69) {
        const sign = text.charCodeAt(i + 1);
        const skip = sign === 43 || sign === 45 ? 2 : 1;
        if (!isDigit(text.charCodeAt(i + skip))) break;
        i += skip + 1;
      } else break;
    }
    this.#emit(T.Number, i);
  }

  /** A `#` or `//` comment ends its line and so gives a Newline token; an unclosed block comment is no comment. */
  #comment(c: number): boolean {
    const text = this.#text;
    const at = this.#at;
    const next = text.charCodeAt(at + 1);
    if (c === 35 || (c === 47 && next === 47)) {
      const newline = text.indexOf("\n", at);
      const end = newline === -1 ? text.length : newline;
      const stop = end > at && text.charCodeAt(end - 1) === CR ? end - 1 : end;
      this.#out.comments.push(at, stop);
      if (newline === -1) this.#at = end;
      else this.#emit(T.Newline, newline + 1);
      return true;
    }
    if (c !== 47 || next !== 42) return false;
    const close = text.indexOf("*/", at + 2);
    if (close === -1) return false;
    this.#out.comments.push(at, close + 2);
    this.#at = close + 2;
    return true;
  }

  #heredocStart(c: number): boolean {
    const text = this.#text;
    if (c !== 60 || text.charCodeAt(this.#at + 1) !== 60) return false;
    let i = this.#at + 2;
    if (text.charCodeAt(i) === 45) i++;
    const from = i;
    const lineEnd = text.indexOf("\n", i);
    if (lineEnd === -1) return false;
    const marker = text.slice(from, text.charCodeAt(lineEnd - 1) === CR ? lineEnd - 1 : lineEnd);
    if (!isIdentifier(marker)) return false;
    this.#emit(T.OpenHeredoc, lineEnd + 1);
    this.#modes.push({ kind: "heredoc", marker, lineStart: true });
    return true;
  }

  #operator(c: number): void {
    const text = this.#text;
    const at = this.#at;
    if (c === 46 && text.startsWith("...", at)) return this.#emit(T.Ellipsis, at + 3);
    const two = DOUBLE.get(c)?.get(text.charCodeAt(at + 1));
    if (two !== undefined) return this.#emit(two, at + 2);
    const one = c < 128 ? (SINGLE[c] as number) : 0;
    this.#emit(one === 0 ? T.Invalid : one, at + 1);
  }

  /** Whether `${` or `%{` (not doubled) is at `i`; then what it opens. */
  #sequence(c: number, i: number, from: number): boolean {
    if ((c !== DOLLAR && c !== PERCENT) || this.#text.charCodeAt(i + 1) !== OPEN) return false;
    return i === from || this.#text.charCodeAt(i - 1) !== c;
  }

  #open(kind: number, at: number): void {
    this.#at = at;
    this.#emit(kind, this.#text.charCodeAt(at + 2) === TILDE ? at + 3 : at + 2);
    this.#modes.push({ kind: "normal", braces: 0 });
  }

  #quoted(): void {
    const text = this.#text;
    const from = this.#at;
    const flush = (to: number): void => {
      if (to > this.#at) this.#emit(T.QuotedText, to);
    };
    for (let i = from; i < text.length;) {
      const c = text.charCodeAt(i);
      if (c === QUOTE) {
        flush(i);
        this.#modes.pop();
        return this.#emit(T.CloseQuote, i + 1);
      }
      if (c === BACKSLASH) {
        const next = text.charCodeAt(i + 1);
        if (Number.isNaN(next) || next === LF || next === CR) {
          flush(i);
          return this.#emit(T.Invalid, i + 1);
        }
        i += 2;
      } else if (c === LF || (c === CR && text.charCodeAt(i + 1) === LF)) {
        flush(i);
        let end = i;
        for (;;) {
          if (text.charCodeAt(end) === LF) end++;
          else if (text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF) end += 2;
          else break;
        }
        // The string ends here for us, so that the strings behind it are not read inside out.
        this.#modes.pop();
        return this.#emit(T.QuotedNewline, end);
      } else if (c === CR) {
        flush(i);
        return this.#emit(T.Invalid, i + 1);
      } else if (this.#sequence(c, i, from)) {
        flush(i);
        return this.#open(c === DOLLAR ? T.Interpolation : T.Directive, i);
      } else if (c > 0x7f && this.#bad.has(i)) {
        flush(i);
        return this.#emit(T.Broken, i + 1);
      } else i++;
    }
    flush(text.length);
  }

  #heredoc(mode: { marker: string; lineStart: boolean }): void {
    const text = this.#text;
    const from = this.#at;
    if (mode.lineStart && mode.marker !== "") {
      const newline = text.indexOf("\n", from);
      if (newline !== -1 && trimBlank(text.slice(from, newline)) === mode.marker) {
        this.#modes.pop();
        return this.#emit(T.CloseHeredoc, text.charCodeAt(newline - 1) === CR ? newline - 1 : newline);
      }
    }
    mode.lineStart = false;
    for (let i = from; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c === LF) {
        mode.lineStart = true;
        return this.#emit(T.HeredocText, i + 1);
      }
      if (this.#sequence(c, i, from)) {
        if (i > from) this.#emit(T.HeredocText, i);
        return this.#open(c === DOLLAR ? T.Interpolation : T.Directive, i);
      }
      const lone = c === CR && text.charCodeAt(i + 1) !== LF;
      if (lone || (c > 0x7f && this.#bad.has(i))) {
        if (i > from) this.#emit(T.HeredocText, i);
        return this.#emit(lone ? T.Invalid : T.Broken, i + 1);
      }
    }
    this.#emit(T.HeredocText, text.length);
  }
}

const trimBlank = (line: string): string => line.replace(/^[ \t]+|[ \t\r]+$/g, "");

/** Whether a whole text is an identifier. */
export const isIdentifier = (text: string): boolean => /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u.test(text);
