/** A small seeded generator, so that every run makes the same mutants. */
export const random = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const INSERTS = [
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  '"',
  "=",
  ",",
  ".",
  "\n",
  " ",
  "${",
  "%{",
  "}",
  "~",
  "\\",
  "#",
  "/*",
  "*/",
  "<<EOF\n",
  "<<-X\n",
  ":",
  "?",
  "-",
  "!",
  "&&",
  "'",
  ";",
  "1",
  "x",
  "é",
  "if",
  "for",
  "...",
  "=>",
  "*",
];

/** One edit of a text: a character, a token, a line or a stretch is removed, repeated, replaced, moved or put in. */
export const mutate = (text: string, next: () => number): string => {
  const at = (limit: number): number => Math.floor(next() * limit);
  const position = at(text.length);
  const lines = text.split("\n");
  const line = at(lines.length);
  const insert = INSERTS[at(INSERTS.length)] as string;
  switch (at(9)) {
    case 0:
      return text.slice(0, position) + text.slice(position + 1);
    case 1:
      return text.slice(0, position) + insert + text.slice(position);
    case 2:
      return text.slice(0, position) + insert + text.slice(position + 1);
    case 3:
      return lines.toSpliced(line, 1).join("\n");
    case 4:
      return lines.toSpliced(line, 0, lines[line] as string).join("\n");
    case 5: {
      const tokens = [...text.matchAll(/[\w-]+|"[^"\n]*"|[^\s\w]/g)];
      const token = tokens[at(tokens.length)];
      return token === undefined ? text : text.slice(0, token.index) + text.slice(token.index + token[0].length);
    }
    case 6: {
      const marks = [...text.matchAll(/["{}[\]()=,\n]/g)];
      const mark = marks[at(marks.length)];
      return mark === undefined ? text : text.slice(0, mark.index) + insert + text.slice(mark.index + 1);
    }
    case 7:
      return text.slice(0, position);
    default: {
      const other = at(lines.length);
      const swapped = [...lines];
      [swapped[line], swapped[other]] = [lines[other] as string, lines[line] as string];
      return swapped.join("\n");
    }
  }
};
