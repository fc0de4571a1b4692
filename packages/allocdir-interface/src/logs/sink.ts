/** Where the bytes of a stream go, and what happens while the disk refuses them. */
import type { Clock } from "@outrider/backoff";
import { createBackoff, type Backoff } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { errnoOf, isDiskTrouble } from "./errors.ts";
import type { RotatingLog } from "./rotating-log.ts";

/** How long a full disk holds the task back before its output is dropped instead. */
export const DISK_TROUBLE_GRACE_MS = 5_000;
/** How often a file that was deleted or moved away is looked for. */
const CHECK_MS = 1_000;

/** What a stream may do now. */
export type SinkState = "open" | "paused" | "dropping";

/**
 * Guards a {@link RotatingLog}. While the disk refuses writes the stream first pauses (the pipe fills, the task waits), and after
 * {@link DISK_TROUBLE_GRACE_MS} drops and counts, so that a full disk stops no service; one line tells of the loss afterwards.
 */
export class LogSink {
  readonly log: RotatingLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waits: Backoff;
  #troubleSince: number | undefined;
  #retryAt = 0;
  #checkedAt: number;
  #dropped = 0;
  #droppedInAll = 0;

  constructor(log: RotatingLog, clock: Clock, logger: Logger) {
    this.log = log;
    this.#clock = clock;
    this.#logger = logger;
    this.#checkedAt = clock.monotonic();
    this.#waits = createBackoff({ base: 100, limit: 1_000, clock });
  }

  /** Bytes dropped since the stream began. */
  get dropped(): number {
    return this.#droppedInAll;
  }

  /** How long until the next try, ms. */
  get retryInMs(): number {
    return Math.max(0, this.#retryAt - this.#clock.monotonic());
  }

  /** Call before moving bytes: looks for a vanished file, ends a trouble that is over. */
  prepare(): SinkState {
    const now = this.#clock.monotonic();
    if (this.#troubleSince === undefined) {
      if (now - this.#checkedAt >= CHECK_MS) this.#look(now);
      return this.#troubleSince === undefined ? "open" : "paused";
    }
    return now < this.#retryAt ? this.#waiting(now, this.#troubleSince) : "open";
  }

  /** Call after bytes went to the disk. */
  succeeded(): void {
    if (this.#troubleSince === undefined) return;
    if (this.#dropped > 0) {
      const text = `[outrider: ${this.#dropped} bytes of output were lost here: the disk refused them]\n`;
      try {
        this.log.write(Buffer.from(text));
      } catch (reason) {
        this.failed(reason);
        return;
      }
    }
    this.#logger.info({ droppedBytes: this.#dropped }, "log file can be written again");
    this.#troubleSince = undefined;
    this.#dropped = 0;
    this.#waits.reset();
  }

  /** Call when the disk refused; answers what to do until the next try. Any other failure is handled likewise: a stream never ends for it. */
  failed(reason: unknown): SinkState {
    const now = this.#clock.monotonic();
    if (this.#troubleSince === undefined) {
      this.#troubleSince = now;
      const level = isDiskTrouble(reason) ? "warn" : "error";
      this.#logger[level](
        { err: reason, code: errnoOf(reason) },
        "log file cannot be written; the task's output waits",
      );
    }
    this.#retryAt = now + this.#waits.next();
    return this.#waiting(now, this.#troubleSince);
  }

  /** Counts bytes that were thrown away in state `dropping`. */
  drop(count: number): void {
    this.#dropped += count;
    this.#droppedInAll += count;
  }

  #waiting(now: number, since: number): SinkState {
    return now - since < DISK_TROUBLE_GRACE_MS ? "paused" : "dropping";
  }

  #look(now: number): void {
    this.#checkedAt = now;
    try {
      if (this.log.check()) this.#logger.debug({ index: this.log.index }, "log file was changed by somebody; adapted");
    } catch (reason) {
      this.failed(reason);
    }
  }
}
