/** Token kinds. Numbers, because a file has many tokens and they live in typed arrays. */
export const T = {
  Eof: 0,
  Newline: 1,
  Ident: 2,
  Number: 3,
  OpenQuote: 4,
  CloseQuote: 5,
  OpenHeredoc: 6,
  CloseHeredoc: 7,
  /** Text in a quoted template, escapes not yet decoded. */
  QuotedText: 8,
  /** Text in a heredoc, at most one line. */
  HeredocText: 9,
  /** `${` or `${~`. */
  Interpolation: 10,
  /** `%{` or `%{~`. */
  Directive: 11,
  /** `}` or `~}` that ends one of the two above. */
  SequenceEnd: 12,
  /** One or more line ends inside a quoted template. */
  QuotedNewline: 13,
  OpenBrace: 14,
  CloseBrace: 15,
  OpenBracket: 16,
  CloseBracket: 17,
  OpenParen: 18,
  CloseParen: 19,
  Equal: 20,
  Colon: 21,
  DoubleColon: 22,
  Comma: 23,
  Dot: 24,
  Ellipsis: 25,
  FatArrow: 26,
  Question: 27,
  Bang: 28,
  Star: 29,
  Slash: 30,
  Percent: 31,
  Plus: 32,
  Minus: 33,
  EqualEqual: 34,
  NotEqual: 35,
  Less: 36,
  LessEqual: 37,
  Greater: 38,
  GreaterEqual: 39,
  And: 40,
  Or: 41,
  /** A byte that was not UTF-8. */
  Broken: 42,
  /** Anything that is not of the language. */
  Invalid: 43,
} as const;

/** The tokens of a source: kind, start and end offset (UTF-16) of token `i`. */
export interface Tokens {
  readonly kinds: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly count: number;
  /** Comments as pairs of start and end. */
  readonly comments: readonly number[];
}

/** Growing typed arrays: a 10 MB file costs 9 bytes a token. */
export class TokenBuffer {
  kinds: Uint8Array;
  starts: Uint32Array;
  ends: Uint32Array;
  count = 0;
  readonly comments: number[] = [];

  constructor(guess: number) {
    this.kinds = new Uint8Array(guess);
    this.starts = new Uint32Array(guess);
    this.ends = new Uint32Array(guess);
  }

  push(kind: number, start: number, end: number): void {
    if (this.count === this.kinds.length) this.#grow();
    this.kinds[this.count] = kind;
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.count++;
  }

  #grow(): void {
    const size = this.kinds.length * 2;
    const kinds = new Uint8Array(size);
    kinds.set(this.kinds);
    const starts = new Uint32Array(size);
    starts.set(this.starts);
    const ends = new Uint32Array(size);
    ends.set(this.ends);
    this.kinds = kinds;
    this.starts = starts;
    this.ends = ends;
  }
}
