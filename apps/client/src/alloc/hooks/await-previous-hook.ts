import type { AllocHook, PreviousAllocs } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";

/** Waits for the allocation that this one replaces; a restored one that has run already waits for nobody. */
export function awaitPreviousHook(o: {
  readonly prevAllocs: PreviousAllocs<AllocDir>;
  readonly hasStarted: () => boolean;
}): AllocHook {
  return {
    name: "await_previous_allocations",
    async prerun(_env, signal) {
      if (!o.hasStarted()) await o.prevAllocs.wait(signal);
    },
  };
}
