/** Brand that every Outrider package puts on its errors, so that two installed copies still recognise them. */
const BRAND = Symbol.for("outrider.error");

/**
 * Why an input was refused. The first ten are the checks of a window in the order in which they are made.
 * @public
 */
export type ScheduleErrorCode =
  | "cron-missing"
  | "start-fields"
  | "end-fields"
  | "start-chars"
  | "end-chars"
  | "timezone"
  | "start-syntax"
  | "end-syntax"
  | "never"
  | "end-before-start"
  | "cron-fields"
  | "cron-syntax"
  | "date-rule"
  | "option"
  | "instant"
  | "not-nomad";

/** Longest piece of the input that is repeated in an error. */
const MAX_TEXT = 200;

/** The offending text, shortened if it is long. @internal */
export function excerpt(value: unknown): string {
  let text: string;
  try {
    text = String(value);
  } catch {
    text = typeof value;
  }
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/**
 * A schedule, cron expression or argument that cannot be used. Never recoverable: the same input fails again.
 * @public
 */
export class ScheduleError extends Error {
  override readonly name: string = "ScheduleError";
  /** Why; stable. */
  readonly code: ScheduleErrorCode;
  /** The field of the input, such as `start` or `windows[1].end`. */
  readonly field: string;
  /** The offending text. */
  readonly text: string;
  /** Always false: the same input fails again. */
  readonly recoverable: boolean = false;

  constructor(code: ScheduleErrorCode, field: string, text: unknown, message: string) {
    super(message);
    this.code = code;
    this.field = field;
    this.text = excerpt(text);
    Object.defineProperty(this, BRAND, { value: true });
  }
}
