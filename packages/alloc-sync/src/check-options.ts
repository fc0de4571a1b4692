import { OutriderError } from "@outrider/foundation";
import type { AllocSyncOptions } from "./options.ts";

/** The error for a wrong option or argument: names the field and the offending text. */
export function badArgument(field: string, given: unknown, expected: string): OutriderError {
  const text = typeof given === "string" ? given : String(given);
  return new OutriderError(
    "ERR_OUTRIDER_SYNC_OPTION",
    `alloc sync: ${field} must be ${expected}, got ${JSON.stringify(text)}`,
    {
      details: { field, text },
    },
  );
}

/** Refuses options that could not work, before anything is made. */
export function checkOptions(options: AllocSyncOptions<unknown, unknown>): void {
  for (const field of ["send", "id", "priority", "toAck"] as const) {
    if (typeof options[field] !== "function") throw badArgument(field, options[field], "a function");
  }
  for (const field of ["onAck", "retryDelay", "random"] as const) {
    const given = options[field];
    if (given !== undefined && typeof given !== "function") throw badArgument(field, given, "a function");
  }
  const { tick, typicalEvery } = options;
  if (tick !== undefined && !(tick >= 1 && tick <= Number.MAX_SAFE_INTEGER)) {
    throw badArgument("tick", tick, "a number of ms >= 1");
  }
  if (typicalEvery !== undefined && !(Number.isSafeInteger(typicalEvery) && typicalEvery >= 1)) {
    throw badArgument("typicalEvery", typicalEvery, "an integer >= 1");
  }
}
