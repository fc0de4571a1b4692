import { FunctionError } from "../eval-types.ts";

/** One step of a compiled pattern. */
export type Instruction =
  | { op: "char"; test: (point: number) => boolean }
  | { op: "split"; first: number; second: number }
  | { op: "jump"; to: number }
  | { op: "save"; slot: number }
  | { op: "assert"; kind: "lineStart" | "lineEnd" | "start" | "end" | "word" | "notWord" }
  | { op: "match" };

/** A compiled pattern: its program, the number of groups and their names. */
export interface Program {
  readonly code: readonly Instruction[];
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

const MAX_CODE = 20_000;
const MAX_REPEAT = 1_000;
const MAX_DEPTH = 200;

type Test = (point: number) => boolean;
interface Flags {
  fold: boolean;
  dotAll: boolean;
  multi: boolean;
}

const between =
  (from: number, to: number): Test =>
  (p) =>
    p >= from && p <= to;
const not =
  (test: Test): Test =>
  (p) =>
    !test(p);
const any =
  (tests: readonly Test[]): Test =>
  (p) =>
    tests.some((t) => t(p));
const ascii = (source: string): Test => {
  const r = new RegExp(`^[${source}]$`);
  return (p) => p < 128 && r.test(String.fromCharCode(p));
};
const digit = ascii("0-9");
export const wordChar: Test = ascii("0-9A-Za-z_");
const space = ascii("\\t\\n\\f\\r ");
const CLASSES: Record<string, Test> = {
  d: digit,
  D: not(digit),
  w: wordChar,
  W: not(wordChar),
  s: space,
  S: not(space),
};
const POSIX: Record<string, Test> = {
  alnum: ascii("0-9A-Za-z"),
  alpha: ascii("A-Za-z"),
  ascii: between(0, 127),
  blank: ascii("\\t "),
  cntrl: ascii("\\x00-\\x1f\\x7f"),
  digit,
  graph: ascii("!-~"),
  lower: ascii("a-z"),
  print: ascii(" -~"),
  punct: ascii("!-/:-@[-`{-~"),
  space: ascii("\\t\\n\\v\\f\\r "),
  upper: ascii("A-Z"),
  word: wordChar,
  xdigit: ascii("0-9A-Fa-f"),
};
const CONTROL: Record<string, number> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };

const folded =
  (test: Test): Test =>
  (p) => {
    if (test(p)) return true;
    const c = String.fromCodePoint(p);
    const lower = c.toLowerCase().codePointAt(0) as number;
    const upper = c.toUpperCase().codePointAt(0) as number;
    return test(lower) || test(upper);
  };

/** Compiles a pattern, given as argument number `argument`, of the RE2 family: no back references, no look-around, so matching takes linear time. */
export const compile = (pattern: string, argument: number): Program => new Compiler(pattern, argument).program();

/** Code with relative addresses, so that it can be repeated. */
type Fragment = Instruction[];

class Compiler {
  readonly #points: string[];
  readonly #argument: number;
  readonly #names = new Map<string, number>();
  #at = 0;
  #groups = 0;
  #depth = 0;
  #flags: Flags = { fold: false, dotAll: false, multi: false };

  constructor(pattern: string, argument: number) {
    this.#argument = argument;
    this.#points = Array.from(pattern);
  }

  program(): Program {
    const body = this.#alternatives();
    if (this.#at < this.#points.length) this.#fail('")" has no "("');
    const relative: Fragment = [{ op: "save", slot: 0 }, ...body, { op: "save", slot: 1 }, { op: "match" }];
    const code = relative.map((x, i): Instruction => {
      if (x.op === "split") return { op: "split", first: i + x.first, second: i + x.second };
      return x.op === "jump" ? { op: "jump", to: i + x.to } : x;
    });
    return { code, groups: this.#groups, names: this.#names };
  }

  #fail(message: string): never {
    throw new FunctionError(`the pattern is not valid at character ${this.#at + 1}: ${message}`, this.#argument);
  }

  #sized(f: Fragment): Fragment {
    return f.length > MAX_CODE ? this.#fail("it is too large") : f;
  }

  #alternatives(): Fragment {
    if (++this.#depth > MAX_DEPTH) this.#fail("it is nested too deep");
    let result = this.#sequence();
    while (this.#points[this.#at] === "|") {
      this.#at++;
      const other = this.#sequence();
      result = this.#sized([
        { op: "split", first: 1, second: result.length + 2 },
        ...result,
        { op: "jump", to: other.length + 1 },
        ...other,
      ]);
    }
    this.#depth--;
    return result;
  }

  #sequence(): Fragment {
    const out: Fragment = [];
    while (this.#at < this.#points.length && this.#points[this.#at] !== "|" && this.#points[this.#at] !== ")") {
      out.push(...this.#repeated(this.#atom()));
      this.#sized(out);
    }
    return out;
  }

  #repeated(atom: Fragment): Fragment {
    const c = this.#points[this.#at];
    let low = 0;
    let high = Infinity;
    if (c === "*" || c === "+" || c === "?") {
      this.#at++;
      low = c === "+" ? 1 : 0;
      high = c === "?" ? 1 : Infinity;
    } else {
      const counts =
        c === "{" ? /^\{(\d+)(,(\d*))?\}/.exec(this.#points.slice(this.#at, this.#at + 16).join("")) : null;
      if (counts === null) return atom;
      this.#at += counts[0].length;
      low = Number(counts[1]);
      high = counts[2] === undefined ? low : counts[3] === "" ? Infinity : Number(counts[3]);
      if (low > MAX_REPEAT || (high !== Infinity && high > MAX_REPEAT) || high < low)
        this.#fail("the number of repetitions is not valid");
    }
    const lazy = this.#points[this.#at] === "?";
    if (lazy) this.#at++;
    if (/[*+?]/.test(this.#points[this.#at] ?? "")) this.#fail("a repetition of a repetition");
    return this.#repeat(atom, low, high, lazy);
  }

  #repeat(atom: Fragment, low: number, high: number, lazy: boolean): Fragment {
    if (atom.length * (high === Infinity ? low + 1 : high) > MAX_CODE) this.#fail("it is too large");
    const split = (skip: number): Instruction =>
      lazy ? { op: "split", first: skip, second: 1 } : { op: "split", first: 1, second: skip };
    const out: Fragment = [];
    for (let i = 0; i < low; i++) out.push(...atom);
    if (high === Infinity) out.push(split(atom.length + 2), ...atom, { op: "jump", to: -atom.length - 1 });
    else for (let i = low; i < high; i++) out.push(split(atom.length + 1), ...atom);
    return this.#sized(out);
  }

  #char(test: Test): Fragment {
    return [{ op: "char", test: this.#flags.fold ? folded(test) : test }];
  }

  #atom(): Fragment {
    const c = this.#points[this.#at++] as string;
    if (c === "(") return this.#group();
    if (c === "[") return this.#char(this.#set());
    if (c === ".") return [{ op: "char", test: this.#flags.dotAll ? () => true : (p) => p !== 10 }];
    if (c === "^") return [{ op: "assert", kind: this.#flags.multi ? "lineStart" : "start" }];
    if (c === "$") return [{ op: "assert", kind: this.#flags.multi ? "lineEnd" : "end" }];
    if (c === "*" || c === "+" || c === "?") this.#fail("there is nothing to repeat");
    if (c === "\\") return this.#escape();
    const point = c.codePointAt(0) as number;
    return this.#char((p) => p === point);
  }

  #group(): Fragment {
    const outer = { ...this.#flags };
    let slot = -1;
    if (this.#points[this.#at] === "?") {
      const head = /^\?(?:P?<([A-Za-z0-9_]+)>|([imsU]*)(?:-([imsU]+))?([:)]))/.exec(
        this.#points.slice(this.#at, this.#at + 80).join(""),
      );
      if (head === null) this.#fail("this kind of group does not exist");
      this.#at += head[0].length;
      if (head[1] === undefined) {
        this.#setFlags(head[2] ?? "", true);
        this.#setFlags(head[3] ?? "", false);
        // Flags alone hold to the end of the enclosing group.
        if (head[4] === ")") return [];
      } else {
        slot = ++this.#groups;
        if (this.#names.has(head[1])) this.#fail(`the name ${head[1]} is taken`);
        this.#names.set(head[1], slot);
      }
    } else slot = ++this.#groups;
    const body = this.#alternatives();
    if (this.#points[this.#at] !== ")") this.#fail('")" is missing');
    this.#at++;
    this.#flags = outer;
    return slot === -1 ? body : [{ op: "save", slot: slot * 2 }, ...body, { op: "save", slot: slot * 2 + 1 }];
  }

  #setFlags(letters: string, on: boolean): void {
    for (const c of letters) {
      if (c === "i") this.#flags.fold = on;
      else if (c === "s") this.#flags.dotAll = on;
      else if (c === "m") this.#flags.multi = on;
      else this.#fail("the flag U is not supported");
    }
  }

  #escape(): Fragment {
    const c = this.#points[this.#at];
    if (c === "b" || c === "B" || c === "A" || c === "z") {
      this.#at++;
      return [{ op: "assert", kind: c === "b" ? "word" : c === "B" ? "notWord" : c === "A" ? "start" : "end" }];
    }
    return this.#char(this.#escapeTest());
  }

  /** What an escape stands for inside and outside of a set. */
  #escapeTest(): Test {
    const c = this.#points[this.#at++];
    if (c === undefined) this.#fail("it ends in a backslash");
    if (Object.hasOwn(CLASSES, c)) return CLASSES[c] as Test;
    if (c === "p" || c === "P") return this.#property(c === "P");
    const point = this.#literalEscape(c);
    return (p) => p === point;
  }

  #literalEscape(c: string): number {
    if (Object.hasOwn(CONTROL, c)) return CONTROL[c] as number;
    if (c === "x") {
      const hex = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(
        this.#points.slice(this.#at, this.#at + 8).join(""),
      );
      if (hex === null) this.#fail("\\x needs hexadecimal digits");
      this.#at += hex[0].length;
      return Number.parseInt((hex[1] ?? hex[2]) as string, 16);
    }
    if (/[A-Za-z0-9]/.test(c)) this.#fail(`\\${c} does not exist`);
    return c.codePointAt(0) as number;
  }

  #property(negated: boolean): Test {
    const name = /^(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))/.exec(this.#points.slice(this.#at, this.#at + 40).join(""));
    if (name === null) this.#fail("\\p needs the name of a class");
    this.#at += name[0].length;
    const text = (name[2] ?? name[3]) as string;
    let matcher: RegExp;
    try {
      matcher = text.length <= 2 ? new RegExp(`^\\p{${text}}$`, "u") : new RegExp(`^\\p{Script=${text}}$`, "u");
    } catch {
      return this.#fail(`there is no class ${text}`);
    }
    const test: Test = (p) => matcher.test(String.fromCodePoint(p));
    return negated !== (name[1] === "^") ? not(test) : test;
  }

  #set(): Test {
    const tests: Test[] = [];
    const negated = this.#points[this.#at] === "^";
    if (negated) this.#at++;
    for (let first = true; ; first = false) {
      const c = this.#points[this.#at++];
      if (c === undefined) this.#fail('"]" is missing');
      if (c === "]" && !first) break;
      const posix = c === "[" ? /^:(\^?)([a-z]+):\]/.exec(this.#points.slice(this.#at, this.#at + 14).join("")) : null;
      if (posix !== null) {
        this.#at += posix[0].length;
        const test = Object.hasOwn(POSIX, posix[2] as string)
          ? (POSIX[posix[2] as string] as Test)
          : this.#fail("there is no such class");
        tests.push(posix[1] === "^" ? not(test) : test);
      } else if (c === "\\" && /[dDwWsSpP]/.test(this.#points[this.#at] ?? "")) tests.push(this.#escapeTest());
      else tests.push(this.#range(c));
    }
    return negated ? not(any(tests)) : any(tests);
  }

  #range(first: string): Test {
    const from = this.#setChar(first);
    if (
      this.#points[this.#at] !== "-" ||
      this.#points[this.#at + 1] === "]" ||
      this.#points[this.#at + 1] === undefined
    )
      return (p) => p === from;
    this.#at++;
    const to = this.#setChar(this.#points[this.#at++] as string);
    return to < from ? this.#fail("the range is the wrong way round") : between(from, to);
  }

  #setChar(c: string): number {
    return c === "\\"
      ? this.#literalEscape(this.#points[this.#at++] ?? this.#fail("it ends in a backslash"))
      : (c.codePointAt(0) as number);
  }
}
