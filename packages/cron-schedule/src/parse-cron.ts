import { type ClockChangePolicy, Cron } from "./cron.ts";
import { nextBit } from "./fields.ts";
import type { ScheduleIssue, ScheduleWarningCode } from "./issue.ts";
import { type FieldFault, parseFields, type SevenFields } from "./parse-fields.ts";
import { MAX_LENGTH, readZone } from "./parse-window.ts";
import { Pattern } from "./pattern.ts";
import { excerpt, ScheduleError } from "./schedule-error.ts";
import type { Zone } from "./zone.ts";

/** Options of {@link parseCron}. @public */
export interface CronOptions extends ClockChangePolicy {
  /** Refuses any other number of fields (macros aside). Default: 5, 6 or 7, and what follows the seventh is ignored. */
  readonly fields?: 5 | 6 | 7 | undefined;
  /** A name of the tz database. Default UTC; `Local` is the zone of this machine. */
  readonly timezone?: string | undefined;
}

/** Text that macros stand for, anywhere in an expression. */
const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 0 1 1 * *",
  "@annually": "0 0 0 1 1 * *",
  "@monthly": "0 0 0 1 * * *",
  "@weekly": "0 0 0 * * 0 *",
  "@daily": "0 0 0 * * * *",
  "@hourly": "0 0 * * * * *",
};

/**
 * Reads a cron expression as Nomad's `periodic` does: 5 fields (minute, hour, day of month, month, day of week), 6 (and a
 * **year**) or 7 (second … year), or `@yearly @annually @monthly @weekly @daily @hourly`.
 * @throws {@link ScheduleError} `cron-fields`, `cron-syntax`, `timezone`, `never` or `option`
 * @public
 */
export function parseCron(expression: string, options: CronOptions = {}): Cron {
  const { fields: wanted, timezone = "UTC", missing = "skip", repeated = "both" } = options;
  if (missing !== "skip" && missing !== "shift")
    throw new ScheduleError("option", "missing", missing, "missing must be skip or shift");
  if (!["first", "last", "both"].includes(repeated)) {
    throw new ScheduleError("option", "repeated", repeated, "repeated must be first, last or both");
  }
  const refuse = (code: "cron-fields" | "cron-syntax" | "never", message: string): ScheduleError =>
    new ScheduleError(code, "cron", expression, `invalid cron expression "${excerpt(expression)}": ${message}`);
  if (typeof expression !== "string" || expression.length > MAX_LENGTH) {
    throw refuse("cron-fields", `want a text of at most ${MAX_LENGTH} characters`);
  }
  const plain = expression.replace(/@[a-z]+/gi, (word) => expand(word));
  const given = plain.trim() === "" ? [] : plain.trim().split(/\s+/);
  if (given.length < 5) throw refuse("cron-fields", "missing field(s)");
  if (wanted !== undefined && given.length !== wanted && plain === expression) {
    throw refuse("cron-fields", `want ${wanted} fields, got ${given.length}`);
  }
  const warnings: ScheduleIssue[] = [];
  const warn = (code: ScheduleWarningCode, message: string): void => {
    warnings.push({ severity: "warning", code, field: "cron", text: excerpt(expression), message });
  };
  if (given.length > 7) warn("extra-fields", "what follows the seventh field is ignored");
  const seven = given.length < 7 ? ["0", ...given, ...(given.length === 5 ? ["*"] : [])] : given.slice(0, 7);
  const zone = readZone(timezone === "" ? "UTC" : timezone, undefined, (text, message) => {
    throw new ScheduleError("timezone", "timezone", text, message);
  }) as Zone;
  let pattern: Pattern;
  try {
    pattern = new Pattern(parseFields(seven as unknown as SevenFields));
  } catch (error) {
    throw refuse("cron-syntax", (error as FieldFault).message);
  }
  if (pattern.nextDay(0) === Infinity) throw refuse("never", "no date matches");
  const { second, day } = pattern.fields;
  if (nextBit(second.low, second.high, nextBit(second.low, second.high, 0) + 1) >= 0) {
    warn("every-second", "matches more than once in a minute: with 7 fields the first one is seconds");
  }
  if (day.domRestricted && day.dowRestricted)
    warn("day-union", "both day fields are restricted: a day that matches either matches");
  return new Cron(expression, pattern, zone, { missing, repeated }, warnings);
}

/** A macro at the beginning of a word is replaced, the rest of the word stays. */
function expand(word: string): string {
  const lower = word.toLowerCase();
  for (const [macro, text] of Object.entries(MACROS))
    if (lower.startsWith(macro)) return text + word.slice(macro.length);
  return word;
}
