import type { AllocHook, AllocStatePersist, MigrationOutcome, PreviousAllocs } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { Logger } from "@outrider/foundation";

/** What the hook needs. */
export interface MigrateDiskHookOptions {
  readonly prevAllocs: PreviousAllocs<AllocDir>;
  readonly allocDir: AllocDir;
  readonly state: AllocStatePersist;
  /** Where the decision is kept. */
  readonly key: string;
  /** Whether a task of this allocation has run before: then the disk is its own. */
  readonly hasStarted: () => boolean;
  /** Tells the user, by way of the tasks' events. */
  readonly tell: (text: string) => void;
  readonly logger: Logger;
}

/**
 * Takes over the disk of the previous allocation, once. Where that fails the allocation starts with an empty disk; whatever comes out is
 * told in one line of the log and one event of each task, since data that is silently not there is what users suffer from most.
 */
export function migrateDiskHook(o: MigrateDiskHookOptions): AllocHook {
  return {
    name: "migrate_disk",
    async prerun(_env, signal) {
      if (o.prevAllocs.migrate === undefined || o.hasStarted() || o.state.get(o.key) !== undefined) return;
      const outcome = await attempt(o, signal);
      // Where there was nothing to take over there is nothing to remember, and the start waits for no write.
      if (outcome === undefined) return;
      await o.state.write({ put: { [o.key]: true } });
      o.logger.info({ migrated: outcome.migrated }, outcome.text);
      o.tell(outcome.text);
    },
  };
}

async function attempt(o: MigrateDiskHookOptions, signal: AbortSignal): Promise<MigrationOutcome | undefined> {
  try {
    return await o.prevAllocs.migrate?.(o.allocDir, signal);
  } catch (err) {
    signal.throwIfAborted();
    o.logger.warn({ err }, "disk of the previous allocation cannot be taken over; starting with an empty one");
    await o.allocDir.destroy();
    await o.allocDir.build({ signal });
    const text = err instanceof Error ? err.message : String(err);
    return { migrated: false, text: `Ephemeral disk starts empty: ${text}` };
  }
}
