import type { ScheduleIssue } from "./issue.ts";
import { readSchedule } from "./parse-schedule.ts";
import type { ParseOptions } from "./parse-window.ts";

/**
 * All that is wrong with an input, errors first; never throws. With `now` also the warnings of {@link Schedule.lint}.
 * An empty list means that `parseSchedule` accepts it.
 * @public
 */
export function validate(
  input: unknown,
  options: ParseOptions & { readonly now?: Date | number } = {},
): ScheduleIssue[] {
  const issues: ScheduleIssue[] = [];
  const schedule = readSchedule(input, options, ({ code, field, text, message }) => {
    issues.push({ severity: "error", code, field, text, message });
  });
  if (schedule !== undefined && options.now !== undefined) issues.push(...schedule.lint(options.now));
  return issues;
}
