import { HttpError } from "./http-error.ts";

/** Longest and default wait of a blocking query, ms. */
export const MAX_WAIT_MS = 600_000;
export const DEFAULT_WAIT_MS = 300_000;
/** Longest value of a query parameter. */
const MAX_VALUE = 4096;

/** The parameters that all queries share. */
export interface QueryOptions {
  readonly index: number;
  readonly waitMs: number;
  readonly namespace: string;
  readonly region: string;
  readonly prefix: string;
  readonly filter: string;
  readonly perPage: number;
  readonly nextToken: string;
  readonly pretty: boolean;
  readonly reverse: boolean;
}

/** A request's parameters by name; the first of several counts, as in Nomad. */
export class Params {
  readonly #values: URLSearchParams;

  constructor(search: string) {
    this.#values = new URLSearchParams(search);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  text(name: string): string {
    const value = this.#values.get(name) ?? "";
    if (value.length > MAX_VALUE) throw new HttpError(400, `parameter ${name} is longer than ${MAX_VALUE} characters`);
    return value;
  }

  all(name: string): string[] {
    return this.#values.getAll(name);
  }

  /** A flag as Go's ParseBool reads it; absent is the default. */
  flag(name: string, whenAbsent = false): boolean {
    const text = this.text(name);
    if (text === "") return whenAbsent;
    if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
    if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
    throw new HttpError(400, `Failed to parse value of "${name}" ("${text}") as a bool`);
  }

  /** A whole number; undefined when absent. */
  integer(name: string): number | undefined {
    const text = this.text(name);
    if (text === "") return undefined;
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value))
      throw new HttpError(400, `error parsing ${name}: ${JSON.stringify(text)} is not a whole number`);
    return value;
  }
}

/** Reads the shared parameters. Throws 400 for wrong ones, 500 for a region that is not this one (as Nomad does). */
export function parseQueryOptions(params: Params, region: string): QueryOptions {
  const wanted = params.text("region");
  if (wanted !== "" && wanted !== region) throw new HttpError(500, "No path to region");
  const indexText = params.text("index");
  if (indexText !== "" && (!/^\d+$/.test(indexText) || !Number.isSafeInteger(Number(indexText))))
    throw new HttpError(400, "Invalid index");
  const perPage = params.integer("per_page") ?? 0;
  if (perPage < 0) throw new HttpError(400, "per_page must not be negative");
  return {
    index: indexText === "" ? 0 : Number(indexText),
    waitMs: parseWait(params.text("wait")),
    namespace: params.text("namespace") === "" ? "default" : params.text("namespace"),
    region,
    prefix: params.text("prefix"),
    filter: params.text("filter"),
    perPage,
    nextToken: params.text("next_token"),
    pretty: params.has("pretty") && params.text("pretty") !== "false" && params.text("pretty") !== "0",
    reverse: params.flag("reverse"),
  };
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

function parseWait(text: string): number {
  if (text === "") return DEFAULT_WAIT_MS;
  const ms = parseGoDuration(text);
  if (ms === undefined) throw new HttpError(400, "Invalid wait time");
  return ms <= 0 ? DEFAULT_WAIT_MS : Math.min(ms, MAX_WAIT_MS);
}

/** Milliseconds of a text like `1m30s`; undefined when it is none. */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const match = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text);
  if (match === null || text.length > 64) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g))
    total += Number(part[1]) * (UNITS[part[2] as string] as number);
  return match[1] === "-" ? -total : total;
}
