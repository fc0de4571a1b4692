/** One task in the memory of the driver. */
import { type ExitResult, type TaskConfig, TaskNotFoundError } from "@outrider/plugin-driver";
import { onAbort } from "@outrider/backoff";
import type { ProcessIdentity } from "./identity.ts";
import type { SavedResult, ShimExit } from "./slot.ts";
import type { TaskMeta } from "./task-store.ts";

/** A promise with its ends outside. */
export class Deferred<T> {
  readonly promise: Promise<T>;
  settled = false;
  resolve!: (value: T) => void;
  reject!: (reason: Error) => void;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = (value) => {
        this.settled = true;
        resolve(value);
      };
      this.reject = (reason) => {
        this.settled = true;
        reject(reason);
      };
    });
    // nobody may be waiting
    this.promise.catch(() => undefined);
  }
}

/** A task from the moment its id is taken until it is destroyed. */
export class TaskRecord {
  readonly key: string;
  readonly meta: TaskMeta;
  /** Known from `startTask` or `recoverTask`; a driver that was restarted lacks it until the latter. */
  config: TaskConfig | undefined;
  shim: ProcessIdentity | undefined;
  task: ProcessIdentity | undefined;
  /** The shim was killed by somebody; the task, if it lives, has no one to tell its exit. */
  orphaned = false;
  /** The shim wrote its exit record; the rest is being tidied up. */
  exit: ShimExit | undefined;
  finishing = false;
  result: SavedResult | undefined;
  /** The command runs, or has run. */
  readonly started = new Deferred<void>();
  readonly #ended = new Deferred<ExitResult>();

  constructor(key: string, meta: TaskMeta, config?: TaskConfig) {
    this.key = key;
    this.meta = meta;
    this.config = config;
  }

  get hasEnded(): boolean {
    return this.result !== undefined;
  }

  /** Gives the result to everybody who waits, now and later. */
  end(result: SavedResult, error?: string): void {
    this.result = result;
    this.started.resolve();
    const { exitCode, signal, oomKilled } = result;
    this.#ended.resolve({ exitCode, signal, oomKilled, ...(error === undefined ? {} : { error }) });
  }

  /** Ends all waiting of a task that was destroyed before it had a result. */
  abandon(): void {
    const reason = new TaskNotFoundError(this.meta.id);
    this.started.reject(reason);
    this.#ended.reject(reason);
  }

  /** The result, as soon as there is one. */
  wait(signal?: AbortSignal): Promise<ExitResult> {
    return unlessAborted(this.#ended.promise, signal);
  }
}

/** A promise that an aborted signal cuts short with its reason. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const forget = onAbort(signal, () => reject(signal.reason as Error));
    promise.then(
      (value) => {
        forget();
        resolve(value);
      },
      (reason: unknown) => {
        forget();
        reject(reason as Error);
      },
    );
  });
}
