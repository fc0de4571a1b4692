import type { ScheduleErrorCode } from "./schedule-error.ts";

/** Codes of warnings. @public */
export type ScheduleWarningCode =
  | "exhausted"
  | "dst-gap"
  | "dst-repeat"
  | "fixed-offset-zone"
  | "zone-change"
  | "day-union"
  | "every-second"
  | "extra-fields";

/** Something to tell the author of a schedule. Errors make it unusable, warnings do not. @public */
export interface ScheduleIssue {
  /** Only errors keep the input from being used. */
  readonly severity: "error" | "warning";
  /** Stable. */
  readonly code: ScheduleErrorCode | ScheduleWarningCode;
  /** The field of the input, such as `start`, `timezone` or `windows[1].end`. */
  readonly field: string;
  /** The offending text. */
  readonly text: string;
  /** For people. */
  readonly message: string;
}
