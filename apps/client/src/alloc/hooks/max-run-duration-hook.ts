import type { AllocHook } from "@outrider/alloc-runner";
import { waitUntil, type Clock } from "@outrider/backoff";
import { nsToMs, type Allocation } from "@outrider/nomad-structs";
import { findGroup } from "../../task/task-lookup.ts";

export interface MaxRunDurationHookOptions {
  readonly alloc: () => Allocation;
  readonly clock: Clock;
  /** The time is up. */
  readonly onExceeded: () => void;
}

/** Ends batch work that takes longer than its group's `max_run_duration`, counted from the allocation's creation. */
export function maxRunDurationHook(options: MaxRunDurationHookOptions): AllocHook {
  let armed: { readonly durationNs: number; readonly cancel: AbortController } | undefined;
  const disarm = (): void => {
    armed?.cancel.abort();
    armed = undefined;
  };
  const arm = (alloc: Allocation): void => {
    const type = alloc.Job?.Type;
    const durationNs = (type === "batch" || type === "sysbatch" ? findGroup(alloc)?.MaxRunDuration : undefined) ?? 0;
    if (durationNs === (armed?.durationNs ?? 0)) return;
    disarm();
    if (durationNs <= 0) return;
    const cancel = new AbortController();
    armed = { durationNs, cancel };
    const end = nsToMs(alloc.CreateTime) + nsToMs(durationNs);
    waitUntil(end, { clock: options.clock, signal: cancel.signal, ref: false }).then(
      options.onExceeded,
      () => undefined,
    );
  };
  return {
    name: "max_run_duration",
    prerun: () => arm(options.alloc()),
    update: ({ alloc }) => arm(alloc),
    postrun: disarm,
    shutdown: disarm,
  };
}
