/** The two ways a run loop is ended from outside, and both together. */
export class RunSignals {
  readonly #kill = new AbortController();
  readonly #shutdown = new AbortController();
  readonly #either = new AbortController();
  /** The task must end. */
  readonly kill: AbortSignal = this.#kill.signal;
  /** The agent goes away; the task lives on. */
  readonly shutdown: AbortSignal = this.#shutdown.signal;
  readonly either: AbortSignal = this.#either.signal;

  setKill(): void {
    const reason = new DOMException("the task is being stopped", "AbortError");
    this.#kill.abort(reason);
    this.#either.abort(reason);
  }

  setShutdown(): void {
    const reason = new DOMException("the agent is shutting down", "AbortError");
    this.#shutdown.abort(reason);
    this.#either.abort(reason);
  }
}

/** Waits for a promise or an abort, whichever comes first; true if the promise settled first. Failures come through. */
export async function settledBefore(promise: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  let forget: () => void = () => undefined;
  const aborted = new Promise<false>((resolve) => {
    const listener = (): void => resolve(false);
    signal.addEventListener("abort", listener, { once: true });
    forget = () => signal.removeEventListener("abort", listener);
  });
  try {
    return await Promise.race([promise.then(() => true as const), aborted]);
  } finally {
    forget();
  }
}
