import { isTemplateFunction } from "./template-functions.ts";
import { TemplateError, type Command, type Operand, type Pipe, type TemplateNode } from "./template-tree.ts";

const MAX_DEPTH = 100;
/** Longest template text, in characters. */
const MAX_SOURCE = 2 ** 20;
const TOKEN =
  /\s*(?:("(?:\\.|[^"\\\n])*")|`([^`]*)`|(-?\d+(?:\.\d+)?)|(\$?[A-Za-z_][A-Za-z0-9_]*|\$)|((?:\.[A-Za-z_][A-Za-z0-9_]*)+|\.)|(:=|=|\||\(|\)|,))/y;

interface Token {
  readonly kind: "string" | "number" | "word" | "field" | "mark";
  readonly text: string;
}

function tokens(text: string, line: number): Token[] {
  const list: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    if (text.slice(TOKEN.lastIndex).trim() === "") break;
    const at = TOKEN.lastIndex;
    const m = TOKEN.exec(text);
    if (m === null) throw new TemplateError(`unexpected ${JSON.stringify(text.slice(at, at + 20).trim())}`, line);
    const [, quoted, raw, number, word, field, mark] = m;
    if (quoted !== undefined) list.push({ kind: "string", text: unquoted(quoted, line) });
    else if (raw !== undefined) list.push({ kind: "string", text: raw });
    else if (number !== undefined) list.push({ kind: "number", text: number });
    else if (word !== undefined) list.push({ kind: "word", text: word });
    else if (field !== undefined) list.push({ kind: "field", text: field });
    else list.push({ kind: "mark", text: mark as string });
  }
  return list;
}

function unquoted(text: string, line: number): string {
  try {
    return JSON.parse(
      text
        .replace(/\\([av])/g, (_, c: string) => (c === "a" ? "\\u0007" : "\\u000b"))
        .replace(/\\x([0-9a-fA-F]{2})/g, "\\u00$1"),
    ) as string;
  } catch {
    throw new TemplateError(`bad string ${text}`, line);
  }
}

interface Piece {
  readonly text: string | undefined;
  readonly action: string | undefined;
  readonly line: number;
}

/** Cuts a template into texts and actions; `{{-` and `-}}` take the white space beside them. */
function pieces(source: string, left: string, right: string): Piece[] {
  const list: Piece[] = [];
  let at = 0;
  let trimNext = false;
  const lineOf = lineCounter(source);
  const addText = (raw: string, index: number, trimEnd: boolean): void => {
    let text = trimNext ? raw.trimStart() : raw;
    if (trimEnd) text = text.trimEnd();
    if (text !== "") list.push({ text, action: undefined, line: lineOf(index) });
  };
  for (;;) {
    const open = source.indexOf(left, at);
    if (open < 0) {
      addText(source.slice(at), at, false);
      return list;
    }
    const trims = /^-\s/.test(source.slice(open + left.length, open + left.length + 2));
    addText(source.slice(at, open), at, trims);
    const line = lineOf(open);
    const start = open + left.length + (trims ? 1 : 0);
    const comment = /^\s*\/\*/.test(source.slice(start, start + 4));
    const close = comment ? endOfComment(source, start, right) : endOf(source, start, right);
    if (close < 0) throw new TemplateError(`${left} is not closed`, line);
    trimNext = /\s-$/.test(source.slice(close - 2, close));
    if (!comment)
      list.push({ text: undefined, action: source.slice(start, trimNext ? close - 1 : close).trim(), line });
    at = close + right.length;
  }
}

/** Gives the line of an index; indexes must not fall. */
function lineCounter(source: string): (index: number) => number {
  let line = 1;
  let next = source.indexOf("\n");
  return (index) => {
    for (; next >= 0 && next < index; next = source.indexOf("\n", next + 1)) line++;
    return line;
  };
}

/** The closing mark after a comment. */
function endOfComment(source: string, start: number, right: string): number {
  const end = source.indexOf("*/", start);
  return end < 0 ? -1 : source.indexOf(right, end);
}

/** The closing mark, not one inside of a string. */
function endOf(source: string, start: number, right: string): number {
  for (let i = start; i < source.length; i++) {
    if (source.startsWith(right, i)) return i;
    const c = source[i];
    if (c === '"') {
      for (i++; i < source.length && source[i] !== '"'; i++) if (source[i] === "\\") i++;
    } else if (c === "`") i = Math.max(i, source.indexOf("`", i + 1));
  }
  return -1;
}

class Parser {
  readonly #pieces: readonly Piece[];
  #at = 0;

  constructor(list: readonly Piece[]) {
    this.#pieces = list;
  }

  all(): TemplateNode[] {
    const { nodes, end, line } = this.#list(0);
    if (end !== undefined) throw new TemplateError(`unexpected {{${end}}}`, line);
    return nodes;
  }

  /** Nodes up to `end` or `else`. */
  #list(depth: number): { nodes: TemplateNode[]; end: string | undefined; line: number } {
    if (depth > MAX_DEPTH)
      throw new TemplateError(`blocks are nested deeper than ${MAX_DEPTH}`, this.#pieces[this.#at]?.line ?? 0);
    const nodes: TemplateNode[] = [];
    for (; this.#at < this.#pieces.length; this.#at++) {
      const piece = this.#pieces[this.#at] as Piece;
      if (piece.action === undefined) {
        nodes.push({ kind: "text", text: piece.text ?? "" });
        continue;
      }
      const word = /^[a-z]+\b/.exec(piece.action)?.[0] ?? "";
      if (word === "end" || word === "else") return { nodes, end: piece.action, line: piece.line };
      if (word === "if" || word === "with" || word === "range") {
        this.#at++;
        nodes.push(this.#block(word, piece.action.slice(word.length), piece.line, depth));
      } else if (["template", "define", "block", "break", "continue"].includes(word)) {
        throw new TemplateError(`{{${word}}} is not supported`, piece.line);
      } else nodes.push(action(piece.action, piece.line));
    }
    return { nodes, end: undefined, line: this.#pieces.at(-1)?.line ?? 1 };
  }

  #block(kind: "if" | "with" | "range", head: string, line: number, depth: number): TemplateNode {
    const list = tokens(head, line);
    const { variables, rest } = assigned(list, line);
    const pipe = pipeOf(rest, line, depth);
    const body = this.#list(depth + 1);
    let otherwise: TemplateNode[] = [];
    if (body.end === undefined) throw new TemplateError(`{{${kind}}} has no {{end}}`, line);
    if (body.end.startsWith("else")) {
      const more = body.end.slice(4).trim();
      this.#at++;
      if (more === "") {
        const second = this.#list(depth + 1);
        if (second.end !== "end") throw new TemplateError(`{{else}} has no {{end}}`, body.line);
        otherwise = second.nodes;
      } else {
        const word = /^(if|with)\b/.exec(more)?.[0] as "if" | "with" | undefined;
        if (word === undefined || kind === "range") throw new TemplateError(`unexpected {{${body.end}}}`, body.line);
        // The end of the inner block is the end of the outer one.
        return node({ kind, line }, variables, pipe, body.nodes, [
          this.#block(word, more.slice(word.length), body.line, depth + 1),
        ]);
      }
    }
    return node({ kind, line }, variables, pipe, body.nodes, otherwise);
  }
}

function node(
  at: { kind: "if" | "with" | "range"; line: number },
  variables: readonly string[],
  pipe: Pipe,
  body: readonly TemplateNode[],
  otherwise: readonly TemplateNode[],
): TemplateNode {
  const { kind, line } = at;
  if (kind !== "range") return { kind, line, set: variables[0], pipe, body, otherwise };
  const [first, second] = variables;
  return { kind, line, key: second === undefined ? undefined : first, value: second ?? first, pipe, body, otherwise };
}

/** Variables before `:=`. */
function assigned(list: readonly Token[], line: number): { variables: string[]; rest: readonly Token[] } {
  const at = list.findIndex((t) => t.kind === "mark" && t.text === ":=");
  if (at < 0) return { variables: [], rest: list };
  const names = list.slice(0, at).filter((t) => t.text !== ",");
  if (names.length === 0 || names.length > 2 || names.some((t) => t.kind !== "word" || !t.text.startsWith("$")))
    throw new TemplateError("bad variables before :=", line);
  return { variables: names.map((t) => t.text), rest: list.slice(at + 1) };
}

function action(text: string, line: number): TemplateNode {
  const list = tokens(text, line);
  const second = list[1];
  if (list[0]?.text.startsWith("$") && second?.kind === "mark" && (second.text === ":=" || second.text === "=")) {
    return {
      kind: "action",
      line,
      set: list[0].text,
      declare: second.text === ":=",
      pipe: pipeOf(list.slice(2), line, 0),
    };
  }
  return { kind: "action", line, set: undefined, declare: false, pipe: pipeOf(list, line, 0) };
}

function pipeOf(list: readonly Token[], line: number, depth: number): Pipe {
  if (depth > MAX_DEPTH) throw new TemplateError(`parentheses are nested deeper than ${MAX_DEPTH}`, line);
  const commands: Command[] = [];
  let current: Token[] = [];
  let open = 0;
  for (const token of list) {
    if (token.text === "(" && token.kind === "mark") open++;
    if (token.text === ")" && token.kind === "mark") open--;
    if (open < 0) throw new TemplateError("unexpected )", line);
    if (token.kind === "mark" && token.text === "|" && open === 0) {
      commands.push(commandOf(current, line, depth));
      current = [];
    } else current.push(token);
  }
  if (open > 0) throw new TemplateError("( is not closed", line);
  commands.push(commandOf(current, line, depth));
  return commands;
}

function commandOf(list: readonly Token[], line: number, depth: number): Command {
  const first = list[0];
  if (first === undefined) throw new TemplateError("an empty command", line);
  const named = first.kind === "word" && !first.text.startsWith("$") && !["true", "false", "nil"].includes(first.text);
  if (named && !isTemplateFunction(first.text))
    throw new TemplateError(`function ${JSON.stringify(first.text)} is not supported`, line);
  const args: Operand[] = [];
  for (let i = named ? 1 : 0; i < list.length; i++) {
    const token = list[i] as Token;
    if (token.kind === "mark") {
      if (token.text !== "(") throw new TemplateError(`unexpected ${JSON.stringify(token.text)}`, line);
      let open = 1;
      const start = i + 1;
      for (i = start; open > 0; i++) {
        const t = list[i] as Token;
        if (t.kind === "mark" && t.text === "(") open++;
        if (t.kind === "mark" && t.text === ")") open--;
      }
      i--;
      const pipe = pipeOf(list.slice(start, i), line, depth + 1);
      const next = list[i + 1];
      const path = next?.kind === "field" && next.text !== "." ? next.text.slice(1).split(".") : [];
      if (path.length > 0) i++;
      args.push({ kind: "pipe", pipe, path });
    } else if (token.kind === "string") args.push({ kind: "literal", value: token.text });
    else if (token.kind === "number") args.push({ kind: "literal", value: Number(token.text) });
    else if (token.kind === "field")
      args.push({ kind: "field", from: ".", path: token.text === "." ? [] : token.text.slice(1).split(".") });
    else if (token.text.startsWith("$")) {
      const next = list[i + 1];
      const path = next?.kind === "field" && next.text !== "." ? next.text.slice(1).split(".") : [];
      if (path.length > 0) i++;
      args.push({ kind: "field", from: token.text, path });
    } else if (["true", "false", "nil"].includes(token.text))
      args.push({ kind: "literal", value: token.text === "nil" ? null : token.text === "true" });
    else if (isTemplateFunction(token.text))
      args.push({ kind: "pipe", pipe: [{ name: token.text, args: [] }], path: [] });
    else throw new TemplateError(`function ${JSON.stringify(token.text)} is not supported`, line);
  }
  if (!named && args.length !== 1) throw new TemplateError("a value is not a function", line);
  return { name: named ? first.text : undefined, args };
}

/** Parses a template. Throws TemplateError with the line, also for a function that is not supported. */
export function parseTemplate(
  source: string,
  o: { readonly leftDelim?: string; readonly rightDelim?: string } = {},
): readonly TemplateNode[] {
  if (source.length > MAX_SOURCE) throw new TemplateError(`text is longer than ${MAX_SOURCE} characters`, 0);
  return new Parser(pieces(source, o.leftDelim || "{{", o.rightDelim || "}}")).all();
}
