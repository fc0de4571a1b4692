/** The callbacks waiting for each signal. One listener a signal: removing a listener from a signal with N of them costs O(N). */
let hubs: WeakMap<AbortSignal, { readonly waiting: Set<() => void>; readonly listener: () => void }> | undefined;

/**
 * Calls `fn` once when `signal` aborts (at once if it is aborted already). However many callbacks wait, the signal carries
 * one listener, and none when nothing waits. Callbacks must not throw.
 * @returns a function that forgets `fn`; calling it twice is harmless.
 * @public
 */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  if (signal.aborted) {
    fn();
    return () => {};
  }
  hubs ??= new WeakMap();
  let hub = hubs.get(signal);
  if (hub === undefined) {
    const waiting = new Set<() => void>();
    const listener = (): void => {
      hubs?.delete(signal);
      for (const call of waiting) call();
    };
    hub = { waiting, listener };
    hubs.set(signal, hub);
    signal.addEventListener("abort", listener, { once: true });
  }
  const { waiting, listener } = hub;
  // Own function object, so that the same `fn` may be registered twice.
  const entry = (): void => fn();
  waiting.add(entry);
  return () => {
    if (waiting.delete(entry) && waiting.size === 0 && !signal.aborted) {
      signal.removeEventListener("abort", listener);
      hubs?.delete(signal);
    }
  };
}
