import { parseSchedule, type Schedule } from "@outrider/cron-schedule";
import { isOutriderError, OutriderError } from "@outrider/foundation";
import type { Task } from "@outrider/nomad-structs";

/** Task meta that stands for a schedule where a server refuses the block. */
const META_START = "outrider_schedule_start";
const META_END = "outrider_schedule_end";
const META_ZONE = "outrider_schedule_timezone";
const META_JSON = "outrider_schedule_json";

/**
 * The schedule of a task: its `schedule` block, else the one in its meta, else none. Throws with the place, the code and the offending
 * text, for a bad one is never ignored.
 */
export function scheduleOf(task: Pick<Task, "Schedule" | "Meta">): Schedule | undefined {
  const { Schedule: block } = task;
  const meta = task.Meta ?? {};
  if (block !== null) {
    const cron = block.Cron;
    if (cron === null) throw scheduleError("schedule", "cron-missing", "must specify cron block");
    return parsed("schedule", () => parseSchedule({ start: cron.Start, end: cron.End, timezone: cron.Timezone }));
  }
  const json = meta[META_JSON];
  if (json !== undefined) {
    return parsed(META_JSON, () =>
      parseSchedule(JSON.parse(json) as Parameters<typeof parseSchedule>[0], { dialect: "extended", overnight: true }),
    );
  }
  const start = meta[META_START];
  const end = meta[META_END];
  if (start === undefined && end === undefined) {
    if (meta[META_ZONE] === undefined) return undefined;
    throw scheduleError(META_ZONE, "cron-missing", "given without a start and an end");
  }
  if (start === undefined) throw scheduleError(META_START, "start-fields", "missing");
  if (end === undefined) throw scheduleError(META_END, "end-fields", "missing");
  return parsed("task meta outrider_schedule_*", () => parseSchedule({ start, end, timezone: meta[META_ZONE] ?? "" }));
}

function parsed(place: string, parse: () => Schedule): Schedule {
  try {
    return parse();
  } catch (cause) {
    const code = isOutriderError(cause) ? cause.code : "json";
    throw scheduleError(place, code, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function scheduleError(place: string, code: string, text: string, cause?: unknown): OutriderError {
  const options = { details: { place, code }, ...(cause === undefined ? {} : { cause }) };
  return new OutriderError("ERR_OUTRIDER_TASK_SCHEDULE", `${place}: ${text} (${code})`, options);
}
