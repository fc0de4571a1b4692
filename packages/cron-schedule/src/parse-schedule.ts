import { parseDateRules } from "./date-rules.ts";
import { type ParseOptions, readWindow, type Window } from "./parse-window.ts";
import { delayed, inverse, minus, union } from "./probe.ts";
import { Schedule } from "./schedule.ts";
import { ScheduleError } from "./schedule-error.ts";
import type { ScheduleSpec } from "./spec.ts";
import type { DayOverrides } from "./pattern.ts";
import type { WindowRule } from "./window-rule.ts";

const MAX_WINDOWS = 100;
const MAX_JITTER_MS = 86_400_000;

/**
 * Reads one window, or several with exceptions.
 * @throws {@link ScheduleError} for the first fault, with its `code`, `field` and `text`
 * @public
 */
export function parseSchedule(input: Window | ScheduleSpec, options: ParseOptions = {}): Schedule {
  return readSchedule(input, options, (error) => {
    throw error;
  }) as Schedule;
}

/** Reads a schedule and calls `report` with each fault; undefined if there was one. */
export function readSchedule(
  input: unknown,
  options: ParseOptions,
  report: (error: ScheduleError) => void,
): Schedule | undefined {
  let faults = 0;
  const fail = (error: ScheduleError): void => {
    faults++;
    report(error);
  };
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      fail(error as ScheduleError);
      return undefined;
    }
  };
  const { dialect = "nomad" } = options;
  if (dialect !== "nomad" && dialect !== "extended") {
    fail(new ScheduleError("option", "dialect", dialect, "dialect must be nomad or extended"));
    return undefined;
  }
  const several = typeof input === "object" && input !== null && "windows" in input;
  const spec: ScheduleSpec = several ? (input as ScheduleSpec) : { windows: [input as Window] };
  const overrides: DayOverrides = {
    except: attempt(() => parseDateRules("except", spec.except)),
    extra: attempt(() => parseDateRules("extra", spec.extra)),
  };
  const list = (name: "windows" | "downtime", days: DayOverrides, least: number): WindowRule[] => {
    const windows: readonly Window[] = spec[name] ?? [];
    if (!Array.isArray(windows) || windows.length < least || windows.length > MAX_WINDOWS) {
      fail(
        new ScheduleError(
          least > 0 ? "cron-missing" : "option",
          name,
          windows,
          `${name} must be a list of ${least} to ${MAX_WINDOWS} windows`,
        ),
      );
      return [];
    }
    return windows.flatMap(
      (window, i) => readWindow(window, several ? `${name}[${i}].` : "", options, days, fail) ?? [],
    );
  };
  const rules = list("windows", overrides, 1);
  const down = list("downtime", {}, 0);
  const { jitter } = spec;
  if (jitter !== undefined) attempt(() => checkJitter(jitter));
  if (faults > 0) return undefined;
  let probe = union(rules);
  if (spec.invert) probe = inverse(probe);
  if (down.length > 0) probe = minus(probe, union(down));
  if (jitter !== undefined && jitter.maxMs > 0) probe = delayed(probe, jitter.maxMs, share(jitter.key));
  return new Schedule(probe, rules, down, copyOf(spec, several), options.localZone);
}

/** What the caller holds may change later. */
function copyOf(spec: ScheduleSpec, several: boolean): ScheduleSpec {
  const { windows, downtime, except, extra, jitter } = spec;
  if (!several) {
    const { start, end, timezone } = windows[0] as Window;
    return { windows: [{ start, end, timezone }] };
  }
  return {
    ...spec,
    windows: windows.map((window) => ({ ...window })),
    downtime: downtime?.map((window) => ({ ...window })),
    except: except && [...except],
    extra: extra && [...extra],
    jitter: jitter && { ...jitter },
  };
}

function checkJitter(jitter: unknown): void {
  const { maxMs, key } = (jitter ?? {}) as { maxMs?: unknown; key?: unknown };
  if (typeof maxMs !== "number" || !(maxMs >= 0 && maxMs <= MAX_JITTER_MS)) {
    throw new ScheduleError("option", "jitter.maxMs", maxMs, `jitter.maxMs must be 0 to ${MAX_JITTER_MS} (one day)`);
  }
  if (typeof key !== "string") throw new ScheduleError("option", "jitter.key", key, "jitter.key must be a string");
}

/** A number in [0, 1) that depends on the text alone and spreads well: FNV-1a with a final mix. */
function share(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
