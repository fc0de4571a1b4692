import { onAbort } from "./on-abort.ts";

/** Work that may be given up while it runs: after `cancelled()` turned true it must change nothing. @internal */
export type Work<T> = (cancelled: () => boolean) => Promise<T>;

/** Runs pieces of work one after the other in call order; each may be cancelled while it waits or runs. @internal */
export class KeyQueue {
  #tail: Promise<unknown> | undefined;

  /** The first piece starts at once, a later one when all before it have settled or were cancelled. */
  run<T>(signal: AbortSignal | undefined, work: Work<T>): Promise<T> {
    const before = this.#tail;
    const start = (): Promise<T> => work(() => signal?.aborted === true);
    const result = abortable(signal, before === undefined ? start : () => before.then(start));
    const settled = result.then(nothing, nothing);
    // A cancelled waiter settles early, but must not let the next one in before its turn.
    const tail = before === undefined ? settled : Promise.all([before, settled]);
    this.#tail = tail;
    void tail.then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    return result;
  }
}

const nothing = (): void => undefined;

function abortable<T>(signal: AbortSignal | undefined, start: () => Promise<T>): Promise<T> {
  if (signal === undefined) return start();
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise<T>((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason as Error));
    void start().then(resolve, reject).finally(stop);
  });
}
