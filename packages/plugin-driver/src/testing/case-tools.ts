/** What many cases need. */
import { systemClock } from "@outrider/backoff";
import type { StartedTask } from "../contract/driver.ts";
import type { Bench, BenchTask } from "./bench.ts";

/** The code of a failure, or that there was none. */
export const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (reason) {
    const found: unknown = (reason as { code?: unknown }).code;
    return typeof found === "string" ? found : "an error without a code";
  }
  return "no error";
};
export const NOT_FOUND = "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND";

/** Prepares and starts a task. */
export async function startOn(bench: Bench, config: unknown): Promise<BenchTask & StartedTask> {
  const task = await bench.task(config);
  const started = await bench.driver.startTask(task.config);
  return { ...task, ...started };
}

/** The first item, or undefined for a stream that ended; the iterator stays open. */
export async function next<T>(iterator: AsyncIterator<T>): Promise<T | undefined> {
  const result = await iterator.next();
  return result.done === true ? undefined : result.value;
}

/** Whether something is still not settled after a while. */
export async function pending(work: Promise<unknown>, ms: number): Promise<boolean> {
  const pause = new Promise<"pending">((resolve) => systemClock.setTimeout(() => resolve("pending"), ms));
  return (await Promise.race([work, pause])) === "pending";
}

/** Whether nothing comes out of an iterator for a while. */
export const silent = (iterator: AsyncIterator<unknown>, ms: number): Promise<boolean> => pending(iterator.next(), ms);
