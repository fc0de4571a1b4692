/** Tells which slots changed: one watch on their folder, and a sweep as a net. */
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { type FSWatcher, watch } from "node:fs";

/** How often everything is looked at, whatever the watch said. */
export const SWEEP_MS = 1_000;

/** What the watcher calls. */
export interface SlotListener {
  changed(key: string): void;
  sweep(): void;
}

/** Watches until closed. */
export class SlotWatcher {
  readonly #clock: Clock;
  readonly #listener: SlotListener;
  #watcher: FSWatcher | undefined;
  #timer: unknown;
  #closed = false;

  constructor(folder: string, listener: SlotListener, clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#listener = listener;
    try {
      this.#watcher = watch(folder, (_event, name) => {
        if (name !== null) listener.changed(name);
      });
      this.#watcher.on("error", (reason) =>
        logger.warn({ err: reason }, "watch on the slots failed; the sweep goes on"),
      );
    } catch (reason) {
      // for example no inotify instance left
      logger.warn({ err: reason }, "cannot watch the slots; exits are seen by the sweep only");
    }
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#clock.clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = this.#clock.setTimeout(() => {
      if (this.#closed) return;
      this.#listener.sweep();
      this.#arm();
    }, SWEEP_MS);
  }
}
