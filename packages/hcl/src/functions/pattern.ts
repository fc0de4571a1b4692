import type { CallContext } from "../eval-types.ts";
import type { Value } from "../value.ts";
import { compile, type Program, wordChar } from "./pattern-program.ts";

/** Offsets of the whole match and of the groups: start and end, -1 where a group took no part. */
type Match = readonly number[];

/** The leftmost match at or after `from`, the first alternative first. One step for each state at each character. */
const search = (program: Program, text: string, from: number, c: CallContext): Match | undefined => {
  const { code } = program;
  type Thread = { pc: number; slots: readonly number[] };
  let current: Thread[] = [];
  let found: Match | undefined;
  const seen = new Uint32Array(code.length);
  let generation = 0;

  const add = (list: Thread[], startPc: number, startSlots: readonly number[], at: number): void => {
    // An explicit stack: patterns may chain thousands of empty steps.
    const stack: Thread[] = [{ pc: startPc, slots: startSlots }];
    for (let t = stack.pop(); t !== undefined; t = stack.pop()) {
      if (seen[t.pc] === generation) continue;
      seen[t.pc] = generation;
      const x = code[t.pc];
      if (x === undefined) continue;
      if (x.op === "jump") stack.push({ pc: x.to, slots: t.slots });
      else if (x.op === "split") stack.push({ pc: x.second, slots: t.slots }, { pc: x.first, slots: t.slots });
      else if (x.op === "save") {
        const slots = [...t.slots];
        slots[x.slot] = at;
        stack.push({ pc: t.pc + 1, slots });
      } else if (x.op === "assert") {
        if (holds(x.kind, text, at)) stack.push({ pc: t.pc + 1, slots: t.slots });
      } else list.push(t);
    }
  };

  const empty: readonly number[] = Array.from({ length: (program.groups + 1) * 2 }, () => -1);
  for (let at = from; ;) {
    generation++;
    const next: Thread[] = [];
    const point = text.codePointAt(at);
    const width = point !== undefined && point > 0xffff ? 2 : 1;
    // Threads of earlier starts come first, a new start last, until something matched.
    const list: Thread[] = [];
    for (const t of current) add(list, t.pc, t.slots, at);
    if (found === undefined) add(list, 0, empty, at);
    c.charge(1 + (list.length >> 2));
    for (const t of list) {
      const x = code[t.pc];
      if (x?.op === "match") {
        found = t.slots;
        break;
      }
      if (x?.op === "char" && point !== undefined && x.test(point)) next.push({ pc: t.pc + 1, slots: t.slots });
    }
    current = next;
    if (point === undefined || (current.length === 0 && found !== undefined)) return found;
    at += width;
  }
};

const holds = (kind: string, text: string, at: number): boolean => {
  if (kind === "start") return at === 0;
  if (kind === "end") return at === text.length;
  if (kind === "lineStart") return at === 0 || text[at - 1] === "\n";
  if (kind === "lineEnd") return at === text.length || text[at] === "\n";
  const isWord = (i: number): boolean => i >= 0 && i < text.length && wordChar(text.charCodeAt(i));
  return (isWord(at - 1) !== isWord(at)) === (kind === "word");
};

/** All matches, none overlapping another; an empty one directly behind a match does not count. */
const matches = (program: Program, text: string, c: CallContext): Match[] => {
  const out: Match[] = [];
  let last = -1;
  for (let at = 0; at <= text.length;) {
    const m = search(program, text, at, c);
    if (m === undefined) break;
    const [from, to] = m as [number, number];
    if (to > from || from !== last) out.push(m);
    last = to;
    at = to > from ? to : to + ((text.codePointAt(to) ?? 0) > 0xffff ? 2 : 1);
  }
  return out;
};

const group = (m: Match, text: string, i: number): string =>
  (m[i * 2] ?? -1) < 0 ? "" : text.slice(m[i * 2], m[i * 2 + 1]);

/** `regex_replace`: `$1`, `${1}` and `${name}` in the replacement are groups, `$$` is a dollar sign. */
export const replacePattern = (text: string, pattern: string, by: string, c: CallContext): string => {
  const program = compile(pattern, 1);
  let out = "";
  let at = 0;
  for (const m of matches(program, text, c)) {
    const piece = by.replace(
      /\$(?:\$|(\w+)|\{(\w+)\})/g,
      (all: string, bare: string | undefined, braced: string | undefined) => {
        const name = bare ?? braced;
        if (name === undefined) return "$";
        const number = /^\d+$/.test(name) ? Number(name) : program.names.get(name);
        return number === undefined ? "" : group(m, text, number);
      },
    );
    c.charge(1, piece.length);
    out += text.slice(at, m[0]) + piece;
    at = m[1] as number;
  }
  return out + text.slice(at);
};

const shaped = (program: Program, m: Match, text: string): Value => {
  if (program.groups === 0) return group(m, text, 0);
  const value = (i: number): Value => ((m[i * 2] ?? -1) < 0 ? null : group(m, text, i));
  if (program.names.size > 0) return new Map([...program.names].map(([name, i]) => [name, value(i)]));
  return Array.from({ length: program.groups }, (_, i) => value(i + 1));
};

/** `regex`: the first match as a string, or its groups as a list or map; undefined without a match. */
export const firstMatch = (pattern: string, text: string, c: CallContext): Value | undefined => {
  const program = compile(pattern, 0);
  const m = search(program, text, 0, c);
  return m && shaped(program, m, text);
};

/** `regexall`: every match. */
export const everyMatch = (pattern: string, text: string, c: CallContext): Value => {
  const program = compile(pattern, 0);
  return matches(program, text, c).map((m) => shaped(program, m, text));
};
