import { FunctionError } from "../eval-types.ts";
import type { Value } from "../value.ts";
import { FlowReader, plainScalar } from "./yaml-flow.ts";

const MAX_DEPTH = 200;

interface Line {
  indent: number;
  text: string;
  number: number;
}

/**
 * The part of YAML that configuration uses: block and flow collections, all scalar styles, comments, one document.
 * Anchors, aliases, tags, complex keys and several documents are refused by name.
 */
export const decodeYaml = (text: string): Value => new YamlReader(text).document();

class YamlReader {
  readonly #raw: string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#raw = text.replace(/^\ufeff/, "").split(/\r?\n/);
    if (this.#raw.at(-1) === "") this.#raw.pop();
    const contentAt = this.#raw.findIndex((line) => !/^\s*(#.*)?$/.test(line));
    const second = this.#raw.findIndex((line, i) => i > contentAt && /^---(\s|$)/.test(line));
    if (second !== -1) this.#fail("several documents are not supported", second + 1);
    const end = this.#raw.findIndex((line) => /^\.\.\.(\s|$)/.test(line));
    if (end === -1) return;
    for (const line of this.#raw.slice(end + 1)) {
      if (!/^\s*(#.*)?$/.test(line)) this.#fail("several documents are not supported", end + 2);
    }
    this.#raw.length = end;
  }

  #fail(message: string, line: number = this.#at + 1): never {
    throw new FunctionError(`invalid YAML at line ${line}: ${message}`, 0);
  }

  /** The next line with content; a comment after a blank is cut when the line is read as a scalar. */
  #peek(): Line | undefined {
    for (; this.#at < this.#raw.length; this.#at++) {
      const raw = this.#raw[this.#at] as string;
      const text = raw.trim();
      if (text === "" || text.startsWith("#")) continue;
      const indent = raw.length - raw.trimStart().length;
      if (raw.slice(0, indent).includes("\t")) this.#fail("a tab cannot indent");
      return { indent, text: raw.slice(indent).trimEnd(), number: this.#at + 1 };
    }
    return undefined;
  }

  document(): Value {
    let line = this.#peek();
    if (line?.text.startsWith("%")) this.#fail("directives are not supported");
    if (line !== undefined && line.indent === 0 && /^---(\s|$)/.test(line.text)) {
      const rest = line.text.slice(3).trim();
      this.#raw[this.#at] = rest === "" || rest.startsWith("#") ? "" : `    ${rest}`;
      line = this.#peek();
    }
    if (line === undefined) return null;
    const value = this.#node(line.indent);
    if (this.#peek() !== undefined) this.#fail("unexpected content");
    return value;
  }

  /** A value whose lines start at `indent`. */
  #node(indent: number): Value {
    if (++this.#depth > MAX_DEPTH) this.#fail(`nested deeper than ${MAX_DEPTH} levels`);
    const line = this.#peek() as Line;
    const value = /^-(\s|$)/.test(line.text)
      ? this.#sequence(indent)
      : keyOf(line.text) !== undefined
        ? this.#mapping(indent)
        : this.#scalarAt(line, line.text, indent - 1);
    this.#depth--;
    return value;
  }

  #sequence(indent: number): Value {
    const items: Value[] = [];
    for (
      let line = this.#peek();
      line !== undefined && line.indent === indent && /^-(\s|$)/.test(line.text);
      line = this.#peek()
    ) {
      const rest = line.text.slice(1);
      const inner = rest.trimStart();
      if (inner === "" || inner.startsWith("#")) {
        this.#at++;
        items.push(this.#below(indent));
      } else {
        // The rest of the line is the first line of a node that is indented by the dash.
        const column = indent + 1 + (rest.length - inner.length);
        this.#raw[this.#at] = " ".repeat(column) + inner;
        items.push(
          /^-(\s|$)/.test(inner) || keyOf(inner) !== undefined
            ? this.#node(column)
            : this.#scalarAt(line, inner, indent),
        );
      }
    }
    return items;
  }

  #mapping(indent: number): Value {
    const map = new Map<string, Value>();
    for (let line = this.#peek(); line !== undefined && line.indent === indent; line = this.#peek()) {
      const split = keyOf(line.text);
      if (split === undefined) this.#fail("a key is expected");
      if (map.has(split.key)) this.#fail(`the key ${JSON.stringify(split.key)} is given twice`);
      if (split.rest === "" || split.rest.startsWith("#")) {
        this.#at++;
        map.set(split.key, this.#below(indent, true));
      } else map.set(split.key, this.#scalarAt(line, split.rest, indent));
    }
    return map;
  }

  /** The value on the lines below a key or dash, or null. */
  #below(indent: number, listToo: boolean = false): Value {
    const line = this.#peek();
    if (line === undefined) return null;
    const sameLevelList = listToo && line.indent === indent && /^-(\s|$)/.test(line.text);
    return line.indent > indent || sameLevelList ? this.#node(line.indent) : null;
  }

  /** A scalar or flow collection that starts on this line; `outer` is the indentation of what it belongs to. */
  #scalarAt(line: Line, text: string, outer: number): Value {
    const first = text[0] as string;
    if (first === "&" || first === "*" || first === "!")
      this.#fail("anchors, aliases and tags are not supported", line.number);
    if (/^[|>][-+]?[1-9]?[-+]?(\s+#.*)?$/.test(text)) return this.#blockScalar(text, outer);
    this.#at++;
    if (first === '"' || first === "'" || first === "[" || first === "{") return this.#flow(text, line);
    return this.#plain(text, outer);
  }

  /** Flow content may go on over lines until its quotes and brackets are closed. */
  #flow(start: string, line: Line): Value {
    let text = start;
    for (;;) {
      const reader = new FlowReader(text, (message) => this.#fail(message, line.number));
      const value = reader.value();
      if (value !== undefined) {
        reader.finish();
        return value.value;
      }
      const next = this.#raw[this.#at];
      if (next === undefined) this.#fail("a quote or bracket is not closed", line.number);
      this.#at++;
      text += `\n${next.trim()}`;
    }
  }

  #plain(start: string, outer: number): Value {
    const parts = [start.replace(/\s+#.*$/, "")];
    if (/:\s/.test(parts[0] as string)) this.#fail("a value cannot hold another key here", this.#at);
    for (
      let line = this.#peek();
      parts[0] === start && line !== undefined && line.indent > outer;
      line = this.#peek()
    ) {
      if (keyOf(line.text) !== undefined) this.#fail("a key is indented under a text");
      parts.push(line.text.replace(/\s+#.*$/, ""));
      this.#at++;
    }
    return parts.length === 1 ? plainScalar(parts[0] as string) : parts.join(" ");
  }

  #blockScalar(header: string, outer: number): Value {
    const chomp = /[-+]/.exec(header)?.[0] ?? "";
    const explicit = /[1-9]/.exec(header)?.[0];
    this.#at++;
    let indent = explicit === undefined ? -1 : Math.max(outer, 0) + Number(explicit);
    const lines: string[] = [];
    for (; this.#at < this.#raw.length; this.#at++) {
      const raw = this.#raw[this.#at] as string;
      const blank = raw.trim() === "";
      const depth = raw.length - raw.trimStart().length;
      if (!blank && indent === -1) indent = depth;
      if (!blank && (depth < indent || depth <= outer)) break;
      lines.push(blank && raw.length <= indent ? "" : raw.slice(Math.max(indent, 0)));
    }
    let end = lines.length;
    while (end > 0 && (lines[end - 1] as string).trim() === "") end--;
    const body = lines.slice(0, end);
    const text = header.startsWith("|") ? body.join("\n") : fold(body);
    if (chomp === "-" || end === 0) return chomp === "+" ? "\n".repeat(lines.length) : text;
    // The last line break of the text is not a line of its own.
    return text + "\n".repeat(chomp === "+" ? lines.length - end + 1 : 1);
  }
}

/** Joins lines by blanks; empty lines and lines that are indented more keep their breaks. */
const fold = (lines: readonly string[]): string => {
  let text = "";
  lines.forEach((line, i) => {
    if (i === 0) text = line;
    else {
      const before = lines[i - 1] as string;
      const loose = /^\s/.test(line) || /^\s/.test(before);
      text += line === "" ? "\n" : before === "" ? (loose ? `\n${line}` : line) : loose ? `\n${line}` : ` ${line}`;
    }
  });
  return text;
};

/** Splits `key: rest`. */
const keyOf = (text: string): { key: string; rest: string } | undefined => {
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*:(?:\s+(.*)|$)/s.exec(text);
  if (quoted !== null) {
    const reader = new FlowReader(quoted[1] as string, () => undefined as never);
    return { key: reader.value()?.value as string, rest: quoted[2] ?? "" };
  }
  const plain = /^([^\s"'[\]{},#&*!|>@`%-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*)|$)/s.exec(text);
  return plain === null ? undefined : { key: plain[1] as string, rest: plain[2] ?? "" };
};
