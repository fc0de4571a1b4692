import { REPEAT_LOG_MS } from "./options.ts";

/** Distinct texts kept apart; beyond that all others count as one. */
const MAX_TEXTS = 16;

/** Decides which of many like failures are logged: the first, then one a minute with the number of those left out. @internal */
export class LogDampener {
  #seen: Map<string, { at: number; omitted: number }> | undefined;

  /** The number of like failures left out since the last line, or `undefined` when this one must be left out too. */
  admit(text: string, nowMs: number): number | undefined {
    const seen = (this.#seen ??= new Map());
    const key = seen.has(text) || seen.size < MAX_TEXTS ? text : "";
    const entry = seen.get(key);
    if (entry === undefined) {
      seen.set(key, { at: nowMs, omitted: 0 });
      return 0;
    }
    if (nowMs - entry.at < REPEAT_LOG_MS) {
      entry.omitted++;
      return undefined;
    }
    const { omitted } = entry;
    seen.set(key, { at: nowMs, omitted: 0 });
    return omitted;
  }
}
