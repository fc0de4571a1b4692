/** A task's window, out of its `config` or its meta. */
import { parseSchedule, type Schedule } from "@outrider/cron-schedule";
import { RecoverableError } from "@outrider/plugin-driver";

interface WindowSettings {
  readonly window_start: string | undefined;
  readonly window_end: string | undefined;
  readonly window_timezone: string | undefined;
}

/** Agents hand meta to drivers as variables of the task. */
const fromMeta = (env: Readonly<Record<string, string>>, key: string): string | undefined =>
  env[`NOMAD_META_${key}`] ?? env[`NOMAD_META_${key.toUpperCase()}`];

/** @throws RecoverableError, not recoverable, that names what is wrong: the task fails with it */
export function readWindow(settings: WindowSettings, env: Readonly<Record<string, string>>): Schedule {
  const read = (key: keyof WindowSettings): string | undefined => settings[key] ?? fromMeta(env, key);
  const start = read("window_start");
  const end = read("window_end");
  const timezone = read("window_timezone") ?? "UTC";
  if (start === undefined || end === undefined) {
    const field = start === undefined ? "window_start" : "window_end";
    throw new RecoverableError(`${field} is missing: give it in the task's config or meta`, false);
  }
  try {
    return parseSchedule({ start, end, timezone }, { overnight: true });
  } catch (cause) {
    throw new RecoverableError(`window: ${cause instanceof Error ? cause.message : String(cause)}`, false, { cause });
  }
}
