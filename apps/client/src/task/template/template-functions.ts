import { TemplateError } from "./template-tree.ts";

/** A value of a template. */
export type TemplateValue =
  | null
  | boolean
  | number
  | string
  | readonly TemplateValue[]
  | { readonly [key: string]: TemplateValue };

/** Where a template's values come from. */
export interface TemplateData {
  /** A variable of the task's environment. */
  env(name: string): string;
  /** The items of a variable; undefined, and remembered as missing, when there is none. */
  nomadVar(path: string): Readonly<Record<string, string>> | undefined;
  /** Whether there is such a variable; asking makes nothing missing. */
  hasVar(path: string): boolean;
}

/** Longest text that a function may make, in characters. */
const MAX_TEXT = 16 * 2 ** 20;

/** Maps that are the items of a variable: these also have `Keys`, `Values` and `Tuples`. */
const variables = new WeakSet<object>();

/** What a variable offers beside its items; undefined for another map or name. Throws for what is not supported. */
export function variableField(map: Readonly<Record<string, TemplateValue>>, name: string): TemplateValue | undefined {
  if (!variables.has(map)) return undefined;
  const keys = Object.keys(map).sort();
  if (name === "Keys") return keys;
  if (name === "Values") return keys.map((key) => map[key] ?? null);
  if (name === "Tuples") return keys.map((key) => ({ K: key, V: map[key] ?? null }));
  if (name === "Metadata" || name === "Parent") throw new TemplateError(`${name} of a variable is not supported`, 0);
  return undefined;
}

function variable(items: Readonly<Record<string, string>> | undefined): TemplateValue {
  if (items === undefined) return null;
  const copy = { ...items };
  variables.add(copy);
  return copy;
}

type Fn = (data: TemplateData, ...args: TemplateValue[]) => TemplateValue;

/** How a value stands in the output. */
export function shown(value: TemplateValue): string {
  if (value === null) return "<no value>";
  if (Array.isArray(value)) return `[${value.map(shown).join(" ")}]`;
  if (typeof value === "object")
    return `map[${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => `${k}:${shown(v)}`)
      .join(" ")}]`;
  return String(value);
}

/** Go's idea of an empty value. */
export const truthy = (value: TemplateValue): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : value !== null && typeof value === "object"
      ? Object.keys(value).length > 0
      : Boolean(value);

const text = (value: TemplateValue | undefined, fn: string): string => {
  if (typeof value !== "string") throw new Error(`${fn}: expected a string, got ${shown(value ?? null)}`);
  return value;
};
const compared = (a: TemplateValue, b: TemplateValue, fn: string): number => {
  if (typeof a !== typeof b || (typeof a !== "number" && typeof a !== "string"))
    throw new Error(`${fn}: ${shown(a)} and ${shown(b ?? null)} cannot be compared`);
  return a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0;
};

function index(value: TemplateValue, ...path: TemplateValue[]): TemplateValue {
  let at = value;
  for (const key of path) {
    if (Array.isArray(at) && typeof key === "number") at = (at as readonly TemplateValue[])[key] ?? null;
    else if (at !== null && typeof at === "object" && typeof key === "string")
      at = Object.hasOwn(at, key) ? ((at as Record<string, TemplateValue>)[key] ?? null) : null;
    else throw new Error(`index: ${shown(at)} has no ${shown(key)}`);
  }
  return at;
}

function printf(format: string, args: readonly TemplateValue[]): string {
  let next = 0;
  return format.replace(
    /%(?:%|([-0 ]?)(\d{0,4})(?:\.(\d{1,2}))?([a-zA-Z])|)/g,
    (
      all,
      flag: string | undefined,
      width: string | undefined,
      digits: string | undefined,
      verb: string | undefined,
    ) => {
      if (all === "%%") return "%";
      if (verb === undefined || !"vsdqtf".includes(verb))
        throw new Error(`printf: ${JSON.stringify(format.slice(0, 40))} has a verb that is not supported`);
      if (next >= args.length)
        throw new Error(`printf: ${JSON.stringify(format.slice(0, 40))} has more verbs than values`);
      const value = args[next++] ?? null;
      const plain =
        verb === "q"
          ? JSON.stringify(shown(value))
          : verb === "f"
            ? number(value, "printf").toFixed(Number(digits ?? 6))
            : shown(value);
      const size = Number(width ?? 0);
      return flag === "-" ? plain.padEnd(size) : plain.padStart(size, flag === "0" && verb !== "s" ? "0" : " ");
    },
  );
}

const number = (value: TemplateValue | undefined, fn: string): number => {
  if (typeof value !== "number") throw new Error(`${fn}: expected a number, got ${shown(value ?? null)}`);
  return value;
};

/** Refuses a result that would be too long, before it is made. */
const bounded = (length: number, fn: string): void => {
  if (length > MAX_TEXT) throw new Error(`${fn}: the result is longer than ${MAX_TEXT} characters`);
};

function join(by: string, list: TemplateValue | undefined): string {
  if (!Array.isArray(list)) throw new Error("join: expected a list");
  const parts = (list as readonly TemplateValue[]).map(shown);
  bounded(
    parts.reduce((sum, part) => sum + part.length + by.length, 0),
    "join",
  );
  return parts.join(by);
}

function replaceAll(from: string, to: string, s: string): string {
  const parts = s.split(from);
  bounded(s.length + parts.length * to.length, "replaceAll");
  return parts.join(to);
}

function base64Decode(s: string): string {
  if (s.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(s)) throw new Error("base64Decode: the text is not base64");
  return Buffer.from(s, "base64").toString("utf8");
}

function length(value: TemplateValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (value !== null && typeof value === "object") return Object.keys(value).length;
  throw new Error(`len: ${shown(value)} has no length`);
}

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  env: (data, name) => data.env(text(name, "env")),
  nomadVar: (data, path) => variable(data.nomadVar(text(path, "nomadVar"))),
  nomadVarExists: (data, path) => data.hasVar(text(path, "nomadVarExists")),
  toLower: (_, s) => text(s, "toLower").toLowerCase(),
  toUpper: (_, s) => text(s, "toUpper").toUpperCase(),
  trimSpace: (_, s) => text(s, "trimSpace").trim(),
  replaceAll: (_, from, to, s) => replaceAll(text(from, "replaceAll"), text(to, "replaceAll"), text(s, "replaceAll")),
  split: (_, by, s) => text(s, "split").split(text(by, "split")),
  join: (_, by, list) => join(text(by, "join"), list),
  contains: (_, wanted, s) =>
    Array.isArray(s)
      ? (s as readonly TemplateValue[]).includes(wanted as TemplateValue)
      : text(s, "contains").includes(text(wanted, "contains")),
  base64Encode: (_, s) => Buffer.from(text(s, "base64Encode")).toString("base64"),
  base64Decode: (_, s) => base64Decode(text(s, "base64Decode")),
  toJSON: (_, value) => JSON.stringify(value),
  parseInt: (_, s) => {
    const n = Number(text(s, "parseInt"));
    if (!Number.isSafeInteger(n)) throw new Error(`parseInt: ${JSON.stringify(s)} is not a whole number`);
    return n;
  },
  add: (_, a, b) => number(a, "add") + number(b, "add"),
  subtract: (_, a, b) => number(b, "subtract") - number(a, "subtract"),
  multiply: (_, a, b) => number(a, "multiply") * number(b, "multiply"),
  len: (_, value) => length(value as TemplateValue),
  index: (_, value, ...path) => index(value as TemplateValue, ...path),
  print: (_, ...args) => args.map(shown).join(""),
  println: (_, ...args) => `${args.map(shown).join(" ")}\n`,
  printf: (_, format, ...args) => printf(text(format, "printf"), args),
  eq: (_, a, second, ...rest) => [second, ...rest].some((b) => JSON.stringify(a) === JSON.stringify(b)),
  ne: (_, a, b) => JSON.stringify(a) !== JSON.stringify(b),
  lt: (_, a, b) => compared(a as TemplateValue, b as TemplateValue, "lt") < 0,
  le: (_, a, b) => compared(a as TemplateValue, b as TemplateValue, "le") <= 0,
  gt: (_, a, b) => compared(a as TemplateValue, b as TemplateValue, "gt") > 0,
  ge: (_, a, b) => compared(a as TemplateValue, b as TemplateValue, "ge") >= 0,
  not: (_, value) => !truthy(value as TemplateValue),
};

/** Functions that take any number of further arguments. */
const VARIADIC = new Set(["index", "print", "println", "printf", "eq"]);
/** Evaluated by the renderer, which need not look at all of their arguments. */
const SHORT_CIRCUIT = new Set(["and", "or"]);

/** Whether templates may call this. */
export const isTemplateFunction = (name: string): boolean => Object.hasOwn(FUNCTIONS, name) || SHORT_CIRCUIT.has(name);

/** Calls a function that {@link isTemplateFunction} knows, other than `and` and `or`. Throws with words for the user. */
export function callFunction(name: string, data: TemplateData, args: readonly TemplateValue[]): TemplateValue {
  const fn = FUNCTIONS[name] as Fn;
  const wanted = fn.length - 1;
  if (args.length < wanted || (args.length > wanted && !VARIADIC.has(name)))
    throw new Error(`${name}: expected ${wanted} ${wanted === 1 ? "argument" : "arguments"}, got ${args.length}`);
  const result = fn(data, ...args);
  if (typeof result === "string") bounded(result.length, name);
  return result;
}
