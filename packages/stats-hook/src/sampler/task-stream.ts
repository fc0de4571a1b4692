import type { Clock } from "@outrider/backoff";
import type { StatsSink } from "../options.ts";
import type { RateWindow } from "./rate-window.ts";
import type { TaskReader, TaskReading } from "./task-reader.ts";
import type { TaskUsage } from "./usage.ts";

/** What a stream is made of. @internal */
export interface TaskStreamParts {
  readonly reader: TaskReader;
  readonly window: RateWindow;
  readonly sink: StatsSink<TaskUsage>;
  readonly clock: Clock;
  readonly pidIntervalMs: number;
  readonly onSample: () => void;
  readonly onClose: () => void;
}

/** The stream of one subscriber. @internal */
export class TaskStream {
  readonly #parts: TaskStreamParts;
  stop: (() => void) | undefined;
  #reading: Generator<void, TaskReading | undefined> | undefined;
  #pidsAtMs = -Infinity;
  #pids: TaskUsage["Pids"] = {};
  #pidsTimestamp = 0n;

  constructor(parts: TaskStreamParts) {
    this.#parts = parts;
  }

  /** Takes one sample, or a part of it: then it says true. */
  readonly job = (): boolean => {
    const { clock, reader, pidIntervalMs } = this.#parts;
    try {
      const pidsDue = clock.monotonic() - this.#pidsAtMs >= pidIntervalMs;
      this.#reading ??= reader.read(pidsDue);
      const result = this.#reading.next();
      if (result.done !== true) return true;
      this.#reading = undefined;
      if (result.value === undefined) this.end();
      else this.#emit(result.value);
    } catch (error) {
      this.end(error);
    }
    return false;
  };

  end(reason?: unknown): void {
    this.close();
    this.#parts.sink.end(reason);
  }

  close(): void {
    this.stop?.();
    this.#parts.reader.close();
    this.#parts.onClose();
  }

  #emit({ raw, pids }: TaskReading): void {
    const { clock, sink, window, onSample } = this.#parts;
    const timestamp = BigInt(Math.round(clock.now() * 1000)) * 1000n;
    if (pids !== undefined) {
      this.#pidsAtMs = clock.monotonic();
      this.#pids = pids;
      this.#pidsTimestamp = timestamp;
    }
    onSample();
    sink.next({
      ResourceUsage: window.taskUsage(raw),
      Timestamp: timestamp,
      Pids: this.#pids,
      PidsTimestamp: this.#pidsTimestamp,
    });
  }
}
