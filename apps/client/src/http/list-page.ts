import type { QueryOptions } from "./query-options.ts";
import { HttpError } from "./http-error.ts";
import { compileFilter } from "./filter.ts";

/** A page of a list. */
export interface Page<T> {
  readonly items: T[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Sorts, filters and cuts a list: by a token that orders it, so that pages stay right while rows come and go. */
export function pageOf<T>(
  rows: readonly T[],
  query: QueryOptions,
  tokenOf: (row: T) => readonly [number, string],
  show: (row: T) => unknown,
): Page<unknown> {
  const keep = query.filter === "" ? () => true : compileFilter(query.filter);
  const sorted = rows.map((row) => ({ row, token: tokenOf(row) })).sort((a, b) => compare(a.token, b.token));
  if (query.reverse) sorted.reverse();
  const from = query.nextToken === "" ? undefined : parseToken(query.nextToken);
  const items: unknown[] = [];
  for (const { row, token } of sorted) {
    if (from !== undefined && (query.reverse ? compare(token, from) > 0 : compare(token, from) < 0)) continue;
    const shown = show(row);
    if (!keep(shown)) continue;
    if (query.perPage > 0 && items.length === query.perPage)
      return { items, headers: { "x-nomad-nexttoken": formatToken(token) } };
    items.push(shown);
  }
  return { items, headers: {} };
}

function compare(a: readonly [number, string], b: readonly [number, string]): number {
  return a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);
}

function formatToken([number, text]: readonly [number, string]): string {
  return number === 0 ? text : `${number}.${text}`;
}

function parseToken(text: string): readonly [number, string] {
  const match = /^(\d+)\.(.*)$/.exec(text);
  if (match === null) return [0, text];
  const number = Number(match[1]);
  if (!Number.isSafeInteger(number)) throw new HttpError(400, `invalid next_token ${JSON.stringify(text)}`);
  return [number, match[2] ?? ""];
}
