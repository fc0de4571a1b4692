import type { ScheduleIssue, ScheduleWarningCode } from "./issue.ts";
import { localText, wallText } from "./local-text.ts";
import type { WindowRule } from "./window-rule.ts";
import type { Jump, Zone } from "./zone.ts";

const YEAR_MS = 365.25 * 86_400_000;
/** Links that look like zones with summer time and are not. */
const FIXED_OFFSET = new Map([
  ["EST", "America/New_York"],
  ["MST", "America/Denver"],
  ["HST", "Pacific/Honolulu"],
]);

/** Warnings about valid windows in the `years` after `now`. */
export function lintRules(rules: readonly WindowRule[], now: number, years: number): ScheduleIssue[] {
  const issues: ScheduleIssue[] = [];
  for (const [i, rule] of rules.entries()) {
    const prefix = rules.length > 1 ? `windows[${i}].` : "";
    const warn = (code: ScheduleWarningCode, field: string, text: string, message: string): void => {
      issues.push({ severity: "warning", code, field: prefix + field, text, message });
    };
    const { zone } = rule;
    const state = rule.at(now);
    if (!state.on && state.edge === Infinity)
      warn("exhausted", "start", localText(zone, now), "no window opens after this time");
    if (rule.start.fields.day.domRestricted && rule.start.fields.day.dowRestricted) {
      warn(
        "day-union",
        "start",
        "day-of-month and day-of-week",
        "both day fields are restricted: a day that matches either opens the window",
      );
    }
    const summer = FIXED_OFFSET.get(zone.name);
    if (summer !== undefined)
      warn(
        "fixed-offset-zone",
        "timezone",
        zone.name,
        `${zone.name} has the same offset all year; did you mean ${summer}?`,
      );
    const to = now + years * YEAR_MS;
    const change = offsetsChange(zone, now, to);
    if (change !== undefined)
      warn(
        "zone-change",
        "timezone",
        zone.name,
        `the offsets of ${zone.name} change for good around ${localText(zone, change).slice(0, 10)}`,
      );
    const jumps = zone.jumps(now, to);
    for (const field of ["start", "end"] as const) {
      for (const kind of ["gap", "repeat"] as const) {
        const walls = jumps.map((jump) => edgeWithin(rule, field, kind, jump)).filter((wall) => wall !== undefined);
        const [first] = walls;
        if (first === undefined) continue;
        const what =
          kind === "gap"
            ? "does not exist on that day: it counts as reached when the clock jumps"
            : "comes twice on that day: the first one counts";
        warn(
          `dst-${kind}`,
          field,
          wallText(first),
          `${wallText(first)} in ${zone.name} ${what} (${walls.length} times in ${years} years)`,
        );
      }
    }
  }
  return issues;
}

/** The start or end (wall second) that falls into the skipped or repeated time of a jump. */
function edgeWithin(rule: WindowRule, field: "start" | "end", kind: "gap" | "repeat", jump: Jump): number | undefined {
  if (jump.after > jump.before !== (kind === "gap")) return undefined;
  const low = (jump.at + Math.min(jump.before, jump.after)) / 1000;
  const high = (jump.at + Math.max(jump.before, jump.after)) / 1000;
  let wall = rule.start.next(low);
  if (field === "end") {
    // The end that belongs to the last start before it; other matches of the end pattern close nothing.
    const opened = rule.start.previous(high - 1);
    wall = opened === -Infinity ? Infinity : rule.end.next(opened + 1);
  } else if (kind === "repeat" && rule.start.fields.hourWild) return undefined;
  return wall >= low && wall < high ? wall : undefined;
}

/** An instant after which the zone uses other offsets than in the year after `from`. */
function offsetsChange(zone: Zone, from: number, to: number): number | undefined {
  const used = (start: number): string => {
    const offsets = new Set([zone.offsetAt(start), ...zone.jumps(start, start + YEAR_MS).map((jump) => jump.after)]);
    return [...offsets].sort((a, b) => a - b).join();
  };
  const usual = used(from);
  for (let start = from + YEAR_MS; start + YEAR_MS <= to; start += YEAR_MS) {
    if (used(start) !== usual) return (zone.jumps(start - YEAR_MS, start + YEAR_MS).at(-1) as Jump).at;
  }
  return undefined;
}
