/** What waits for one signal, as its one listener: removing a listener from a signal with N of them costs O(N). */
class Hub extends Set<() => void> {
  handleEvent(): void {
    for (const call of this) call();
    this.clear();
  }
}

const hubs = /* @__PURE__ */ new WeakMap<AbortSignal, Hub>();

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
  const hub = hubs.get(signal) ?? new Hub();
  hubs.set(signal, hub);
  if (hub.size === 0) signal.addEventListener("abort", hub, { once: true });
  // Own function object, so that the same `fn` may be registered twice.
  const entry = (): void => fn();
  hub.add(entry);
  return () => {
    if (hub.delete(entry) && hub.size === 0) signal.removeEventListener("abort", hub);
  };
}
