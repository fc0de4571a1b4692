import { backoff, sleep, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { Mounter } from "../mounter.ts";

const BUSY_TRIES = 6;
const BUSY_WAIT_MS = 50;
const BUSY_LIMIT_MS = 2000;

/** Takes off what really is mounted, deepest and newest first, until nothing is left; busy mounts are waited for, then detached. */
export async function sweepMounts(o: {
  readonly mounter: Pick<Mounter, "unmount">;
  /** Targets of the mounts that are there now, oldest first. */
  readonly list: () => Promise<string[]>;
  readonly logger: Logger;
  readonly clock: Clock | undefined;
}): Promise<void> {
  for (let tries = 0; ; tries++) {
    const mounts = await o.list();
    if (mounts.length === 0) return;
    const lazy = tries >= BUSY_TRIES;
    if (lazy) o.logger.warn({ mounts }, "mounts stay busy: detaching them");
    if (tries > BUSY_TRIES)
      throw new AllocDirError("BUSY", `${mounts.length} mounts below the allocation could not be taken off`, "", {
        recoverable: true,
      });
    let failed = false;
    for (const target of mounts.reverse().sort((a, b) => b.split("/").length - a.split("/").length)) {
      await o.mounter.unmount(target, { lazy }).catch(() => (failed = true));
    }
    if (failed)
      await sleep(backoff(BUSY_WAIT_MS, BUSY_LIMIT_MS, tries), o.clock === undefined ? {} : { clock: o.clock });
  }
}
