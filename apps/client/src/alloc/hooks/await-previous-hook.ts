import type { AllocHook, PreviousAllocs } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { Logger } from "@outrider/foundation";

export interface AwaitPreviousHookOptions {
  readonly prevAllocs: PreviousAllocs<AllocDir>;
  readonly allocDir: AllocDir;
  readonly logger: Logger;
}

/** Waits for the allocation that this one replaces, and takes over its disk; a failed move gives an empty disk, not a failed allocation. */
export function awaitPreviousHook(options: AwaitPreviousHookOptions): AllocHook {
  const { prevAllocs, allocDir, logger } = options;
  return {
    name: "await_previous_allocations",
    async prerun(_env, signal) {
      await prevAllocs.wait(signal);
      if (prevAllocs.migrate === undefined) return;
      try {
        await prevAllocs.migrate(allocDir, signal);
      } catch (err) {
        signal.throwIfAborted();
        logger.warn({ err }, "disk of the previous allocation cannot be taken over; starting with an empty one");
        await allocDir.destroy();
        await allocDir.build({ signal });
      }
    },
  };
}
