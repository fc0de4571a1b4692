import { Pattern, type DayOverrides } from "./pattern.ts";
import { type FieldFault, parseFields, type SevenFields } from "./parse-fields.ts";
import type { CronFields } from "./fields.ts";
import { localZoneName } from "./local-zone.ts";
import { excerpt, ScheduleError, type ScheduleErrorCode } from "./schedule-error.ts";
import { WindowRule } from "./window-rule.ts";
import { type Zone, zoneNamed } from "./zone.ts";
import { LAST_YEAR } from "./calendar.ts";

/** A window of time: open from each match of `start` to the first match of `end` after it. @public */
export interface Window {
  /** Six fields: minute, hour, day of month, month, day of week, year. */
  readonly start: string;
  /** Minute and hour; in the extended dialect also six fields. */
  readonly end: string;
  /** A name of the tz database. Empty, `Local` or absent: the zone of this machine. */
  readonly timezone?: string | undefined;
}

/** How much of the cron grammar a window may use: what Nomad takes, or lists, steps and dated ends too. @public */
export type Dialect = "nomad" | "extended";

/** How windows are read. @public */
export interface ParseOptions {
  /** `nomad` (default) refuses lists and steps as Nomad does; `extended` also allows an `end` with six fields. */
  readonly dialect?: Dialect | undefined;
  /** Allows an end that is not later in the day than the start; it then falls on the next day. Default false. */
  readonly overnight?: boolean | undefined;
  /** The zone that empty and `Local` stand for. Default: that of this process, if it is certain. */
  readonly localZone?: string | undefined;
}

/** Longest expression; no sensible one comes near, and it bounds the work. */
export const MAX_LENGTH = 4096;

/** Calls `report` with each fault, in the order of the codes; the rule is undefined if there was one. */
export function readWindow(
  window: Partial<Window> | null | undefined,
  prefix: string,
  options: ParseOptions,
  overrides: DayOverrides,
  report: (error: ScheduleError) => void,
): WindowRule | undefined {
  const { dialect = "nomad", overnight = false } = options;
  let faults = 0;
  const fail = (code: ScheduleErrorCode, name: string, text: unknown, message: string): void => {
    faults++;
    report(new ScheduleError(code, prefix + name, text, message));
  };
  if (typeof window !== "object" || window === null || (window.start === undefined && window.end === undefined)) {
    fail("cron-missing", "cron", window, "must specify cron block");
    return undefined;
  }
  const start = fieldsOf(window.start);
  const end = fieldsOf(window.end);
  const daily = !(dialect === "extended" && end.length === 6);
  if (start.length !== 6)
    fail(
      "start-fields",
      "start",
      window.start,
      `cron.start must contain 6 fields, separated by one space${tooLong(window.start)}`,
    );
  if (end.length !== 2 && daily)
    fail(
      "end-fields",
      "end",
      window.end,
      `cron.end must contain 2 fields, separated by one space${tooLong(window.end)}`,
    );
  if (dialect === "nomad") {
    if (start.length > 0 && /[/,]/.test(window.start as string))
      fail("start-chars", "start", window.start, 'cron.start must not contain "/,"');
    if (end.length > 0 && /[/,]/.test(window.end as string))
      fail("end-chars", "end", window.end, 'cron.end must not contain "/,"');
  }
  const zone = readZone(window.timezone, options.localZone, (text, message) =>
    fail("timezone", "timezone", text, message),
  );
  const read = (
    code: "start-syntax" | "end-syntax",
    name: "start" | "end",
    fields: readonly string[],
  ): CronFields | undefined => {
    try {
      return parseFields(["0", ...fields] as unknown as SevenFields);
    } catch (error) {
      const { message } = error as FieldFault;
      fail(code, name, window[name], `invalid ${name} time in schedule: "${excerpt(window[name])}"; ${message}`);
      return undefined;
    }
  };
  // Fields of a wrong number are not looked into: the message about their number is the useful one.
  const startFields = start.length === 6 ? read("start-syntax", "start", start) : undefined;
  const endFields =
    end.length === 2 || !daily ? read("end-syntax", "end", daily ? [...end, "*", "*", "*", "*"] : end) : undefined;
  if (startFields === undefined || endFields === undefined) return undefined;

  const opens = new Pattern(startFields, overrides);
  // A window that opened on the last day may close after it.
  const closes = new Pattern(endFields, {}, LAST_YEAR + 1);
  if (opens.nextDay(0) === Infinity)
    fail("never", "start", window.start, `no date matches cron.start: "${window.start}"`);
  else if (closes.nextDay(0) === Infinity)
    fail("never", "end", window.end, `no date matches cron.end: "${window.end}"`);
  if (daily && !overnight && closes.lastTime <= opens.lastTime) {
    fail(
      "end-before-start",
      "end",
      window.end,
      `end cannot be sooner than start; end=${window.end}, start=${window.start}`,
    );
  }
  return faults === 0 ? new WindowRule(zone as Zone, opens, closes, daily) : undefined;
}

/** The fields between single spaces; none if the text is not of that form. */
function fieldsOf(text: unknown): string[] {
  if (typeof text !== "string" || text.length > MAX_LENGTH) return [];
  return /^(?: |$)| (?: |$)|[\t\r\n]/.test(text) ? [] : text.split(" ");
}

function tooLong(text: unknown): string {
  return typeof text === "string" && text.length > MAX_LENGTH ? ` (at most ${MAX_LENGTH} characters)` : "";
}

/** The zone of a name; empty, absent and `Local` are the machine's. */
export function readZone(
  name: string | undefined,
  localZone: string | undefined,
  fail: (text: unknown, message: string) => void,
): Zone | undefined {
  const local = name === undefined || name === "" || name === "Local";
  const wanted: unknown = local ? (localZone ?? localZoneName()) : name;
  const zone = typeof wanted === "string" ? zoneNamed(wanted) : undefined;
  if (zone === undefined) {
    const why = local
      ? `the time zone of this machine is not certain (${wanted === undefined ? "TZ is not a name of the tz database" : excerpt(wanted)}); name one such as Europe/Paris`
      : `unknown time zone ${excerpt(wanted)}`;
    fail(local ? (wanted ?? name ?? "") : name, `invalid timezone in schedule: ${why}`);
  }
  return zone;
}
