import { readWindow, type Window } from "./parse-window.ts";
import { ScheduleError } from "./schedule-error.ts";
import type { ScheduleSpec } from "./spec.ts";

/** The one window of a schedule in Nomad's dialect. */
export function toNomadWindow(spec: ScheduleSpec, localZone: string | undefined): Window {
  const refuse = (field: string, text: unknown): never => {
    throw new ScheduleError("not-nomad", field, text, `Nomad's schedule block cannot express this ${field}`);
  };
  const [window] = spec.windows as readonly [Window];
  if (spec.windows.length > 1) refuse("windows", spec.windows.length);
  for (const field of ["except", "extra", "downtime"] as const) {
    const list = spec[field];
    if (list !== undefined && list.length > 0) refuse(field, list.length);
  }
  if (spec.invert) refuse("invert", spec.invert);
  if (spec.jitter !== undefined && spec.jitter.maxMs > 0) refuse("jitter", spec.jitter.maxMs);
  const { start, end, timezone = "" } = window;
  readWindow(window, "", { localZone }, {}, (error) => refuse(error.field, error.text));
  return { start, end, timezone };
}
