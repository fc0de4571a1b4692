import { HttpError } from "./http-error.ts";

type Test = (row: unknown) => boolean;

/** Longest filter, characters; deepest nesting. */
const MAX_LENGTH = 2048;
const MAX_DEPTH = 16;

/**
 * Compiles a filter like `Type == "batch" and Periodic is not nil`: selectors with dots, `==`, `!=`, `contains`, `in`, `is [not] empty`,
 * `is [not] nil`, `not`, `and`, `or`, brackets. Anything else is a 400 that names it.
 */
export function compileFilter(text: string): Test {
  if (text.length > MAX_LENGTH) throw new HttpError(400, `filter is longer than ${MAX_LENGTH} characters`);
  return new FilterParser(text).parse();
}

interface Token {
  readonly kind: "word" | "value" | "sign" | "end";
  readonly text: string;
  readonly at: number;
}

class FilterParser {
  readonly #tokens: Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parse(): Test {
    const test = this.#or();
    if (this.#peek().kind !== "end") throw this.#unexpected(this.#peek());
    return test;
  }

  #or(): Test {
    let left = this.#and();
    while (this.#takeWord("or")) {
      const [a, b] = [left, this.#and()];
      left = (row) => a(row) || b(row);
    }
    return left;
  }

  #and(): Test {
    let left = this.#not();
    while (this.#takeWord("and")) {
      const [a, b] = [left, this.#not()];
      left = (row) => a(row) && b(row);
    }
    return left;
  }

  #not(): Test {
    if (this.#takeWord("not")) {
      const test = this.#not();
      return (row) => !test(row);
    }
    if (this.#peek().text !== "(" || this.#peek().kind !== "sign") return this.#comparison();
    this.#next += 1;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new HttpError(400, `filter is nested more than ${MAX_DEPTH} levels deep`);
    const test = this.#or();
    this.#depth -= 1;
    const close = this.#take();
    if (close.text !== ")") throw this.#unexpected(close);
    return test;
  }

  #comparison(): Test {
    const first = this.#take();
    if (first.kind === "value") return this.#valueIn(first.text, first);
    if (first.kind !== "word") throw this.#unexpected(first);
    const path = first.text.split(".");
    const operator = this.#take();
    if (operator.text === "==" || operator.text === "!=") {
      const value = this.#value();
      return operator.text === "=="
        ? (row) => equals(select(row, path), value)
        : (row) => !equals(select(row, path), value);
    }
    if (operator.text === "contains") return contains(path, this.#value());
    if (operator.text === "is") return this.#is(path);
    if (operator.text === "in" || operator.text === "not") return this.#wordIn(first, operator);
    throw new HttpError(
      400,
      `failed to read filter expression: operator ${JSON.stringify(operator.text)} at ${operator.at} is not supported`,
    );
  }

  #is(path: readonly string[]): Test {
    const negated = this.#takeWord("not");
    const what = this.#take();
    if (what.text === "nil") return (row) => isNil(select(row, path)) !== negated;
    if (what.text === "empty") return (row) => isEmpty(select(row, path)) !== negated;
    throw this.#unexpected(what);
  }

  #wordIn(first: Token, operator: Token): Test {
    const negated = operator.text === "not";
    if (negated && !this.#takeWord("in")) throw this.#unexpected(this.#peek());
    const list = this.#take();
    if (list.kind !== "word") throw this.#unexpected(list);
    const test = contains(list.text.split("."), first.text);
    return negated ? (row) => !test(row) : test;
  }

  #valueIn(value: string, first: Token): Test {
    const operator = this.#take();
    if (operator.text !== "in" && operator.text !== "not") throw this.#unexpected(first);
    return this.#wordIn({ ...first, text: value }, operator);
  }

  #value(): string {
    const token = this.#take();
    if (token.kind !== "word" && token.kind !== "value") throw this.#unexpected(token);
    return token.text;
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== "end") this.#next += 1;
    return token;
  }

  #takeWord(word: string): boolean {
    const token = this.#peek();
    if (token.kind !== "word" || token.text !== word) return false;
    this.#next += 1;
    return true;
  }

  #unexpected(token: Token): HttpError {
    const what = token.kind === "end" ? "the end" : JSON.stringify(token.text);
    return new HttpError(
      400,
      `failed to create result paginator: failed to read filter expression: unexpected ${what} at ${token.at}`,
    );
  }
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:("(?:[^"\\]|\\.)*")|(`[^`]*`)|([A-Za-z0-9_.\-/]+)|(==|!=|\(|\)))/y;
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) {
      if (text.slice(at).trim() === "") break;
      throw new HttpError(
        400,
        `failed to create result paginator: failed to read filter expression: unexpected ${JSON.stringify(text.slice(at).trim()[0])} at ${at}`,
      );
    }
    if (match[1] !== undefined) tokens.push({ kind: "value", text: unquote(match[1], at), at });
    else if (match[2] !== undefined) tokens.push({ kind: "value", text: match[2].slice(1, -1), at });
    else if (match[3] !== undefined) tokens.push({ kind: "word", text: match[3], at });
    else tokens.push({ kind: "sign", text: match[4] as string, at });
  }
  return [...tokens, { kind: "end", text: "", at: text.length }];
}

function unquote(text: string, at: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new HttpError(400, `failed to create result paginator: failed to read filter expression: bad text at ${at}`);
  }
}

function select(row: unknown, path: readonly string[]): unknown {
  let value = row;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function equals(value: unknown, text: string): boolean {
  if (typeof value === "string") return value === text;
  return (typeof value === "number" || typeof value === "boolean") && String(value) === text;
}

function contains(path: readonly string[], text: string): Test {
  return (row) => {
    const value = select(row, path);
    if (Array.isArray(value)) return value.some((item) => equals(item, text));
    if (typeof value === "string") return value.includes(text);
    return typeof value === "object" && value !== null && Object.hasOwn(value, text);
  };
}

/** A flag that stands for a block counts as the block: `Periodic is not nil` of a list. */
function isNil(value: unknown): boolean {
  return value === undefined || value === null || value === false;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return Array.isArray(value) ? value.length === 0 : typeof value === "object" && Object.keys(value).length === 0;
}
