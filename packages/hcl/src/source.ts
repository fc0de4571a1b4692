import type { Pos, Range } from "./diagnostic.ts";

let segmenter: Intl.Segmenter | undefined;

/** Number of grapheme clusters in a text of one line. */
const graphemes = (text: string): number => {
  let ascii = true;
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) {
      ascii = false;
      break;
    }
  }
  if (ascii) return text.length;
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  let count = 0;
  for (const _ of segmenter.segment(text)) count++;
  return count;
};

const utf8Length = (text: string, from: number, to: number): number => {
  let bytes = 0;
  for (let i = from; i < to; i++) {
    const c = text.charCodeAt(i);
    // Each half of a surrogate pair counts two, so that the pair is four bytes.
    bytes += c < 0x80 ? 1 : c < 0x800 || (c >= 0xd800 && c <= 0xdfff) ? 2 : 3;
  }
  return bytes;
};

/** One source text with its line table, made when the first position is asked for. */
export class Source {
  readonly text: string;
  readonly filename: string;
  /** UTF-16 offsets of bytes that were not UTF-8; each is one U+FFFD in `text`. Ascending. */
  readonly bad: readonly number[];
  readonly #byteOffset: number;
  #lines: Uint32Array | undefined;
  #lineBytes: Float64Array | undefined;

  constructor(text: string, filename: string, bad: readonly number[] = [], byteOffset = 0) {
    this.text = text;
    this.filename = filename;
    this.bad = bad;
    // A byte order mark that was cut off still counts in the byte offsets.
    this.#byteOffset = byteOffset;
  }

  #table(): { lines: Uint32Array; bytes: Float64Array } {
    if (this.#lines !== undefined && this.#lineBytes !== undefined)
      return { lines: this.#lines, bytes: this.#lineBytes };
    const starts = [0];
    const text = this.text;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    const lines = Uint32Array.from(starts);
    const bytes = new Float64Array(lines.length);
    let total = this.#byteOffset;
    for (let i = 0; i < lines.length; i++) {
      bytes[i] = total;
      total += this.#bytes(lines[i] as number, lines[i + 1] ?? text.length);
    }
    this.#lines = lines;
    this.#lineBytes = bytes;
    return { lines, bytes };
  }

  #bytes(from: number, to: number): number {
    let n = utf8Length(this.text, from, to);
    if (this.bad.length > 0) for (const b of this.bad) if (b >= from && b < to) n -= 2;
    return n;
  }

  pos(offset: number): Pos {
    const { lines, bytes } = this.#table();
    let low = 0;
    let high = lines.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if ((lines[mid] as number) <= offset) low = mid;
      else high = mid - 1;
    }
    const start = lines[low] as number;
    return {
      line: low + 1,
      column: graphemes(this.text.slice(start, offset)) + 1,
      byte: (bytes[low] as number) + this.#bytes(start, offset),
    };
  }
}

/** A range that computes its positions when they are read: most ranges of a good file never are. */
export class SourceRange implements Range {
  readonly source: Source;
  readonly from: number;
  readonly to: number;

  constructor(source: Source, from: number, to: number) {
    this.source = source;
    this.from = from;
    this.to = to;
  }

  get filename(): string {
    return this.source.filename;
  }

  get start(): Pos {
    return this.source.pos(this.from);
  }

  get end(): Pos {
    return this.source.pos(this.to);
  }

  get text(): string {
    return this.source.text.slice(this.from, this.to);
  }

  toJSON(): Range {
    return { filename: this.filename, start: this.start, end: this.end };
  }
}

/**
 * The verbatim source text of a range that came from this package's parser.
 * @returns The text, or an empty string for a range made by hand.
 * @public
 */
export const sourceText = (range: Range): string => (range instanceof SourceRange ? range.text : "");

/** The range from the start of one to the end of another range of the same source. */
export const spanning = (first: Range, last: Range): Range =>
  first instanceof SourceRange && last instanceof SourceRange && first.source === last.source
    ? new SourceRange(first.source, first.from, last.to)
    : { filename: first.filename, start: first.start, end: last.end };
