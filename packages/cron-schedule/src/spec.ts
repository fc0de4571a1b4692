import type { DateRule } from "./date-rules.ts";
import type { Window } from "./parse-window.ts";

/** Several windows and what modifies them. @public */
export interface ScheduleSpec {
  /** Open while any of these is. At least one. */
  readonly windows: readonly Window[];
  /** Windows do not open on these local dates (one that opened the day before runs to its end). */
  readonly except?: readonly DateRule[] | undefined;
  /** Windows open on these local dates too, at their usual times; `except` wins. */
  readonly extra?: readonly DateRule[] | undefined;
  /** Closed during the windows and open outside them. */
  readonly invert?: boolean | undefined;
  /** Never open during these, whatever the other windows say. */
  readonly downtime?: readonly Window[] | undefined;
  /** Each window opens later by a share of `maxMs` that depends on `key` alone, never after its end. */
  readonly jitter?: { readonly maxMs: number; readonly key: string } | undefined;
}
