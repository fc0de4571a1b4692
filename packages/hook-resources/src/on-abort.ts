interface Hub {
  readonly waiting: Set<() => void>;
  readonly fire: () => void;
}

const hubs = new WeakMap<AbortSignal, Hub>();

/**
 * Calls `fn` when the signal aborts; gives the function that takes it back. One listener per signal serves all, because removal from a
 * signal is linear in its listeners and more than ten of them print a warning. @internal
 */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  const hub = hubs.get(signal) ?? listen(signal);
  hub.waiting.add(fn);
  return () => {
    if (!hub.waiting.delete(fn) || hub.waiting.size > 0) return;
    hubs.delete(signal);
    signal.removeEventListener("abort", hub.fire);
  };
}

function listen(signal: AbortSignal): Hub {
  const waiting = new Set<() => void>();
  const fire = (): void => {
    hubs.delete(signal);
    for (const fn of waiting) fn();
    waiting.clear();
  };
  const hub = { waiting, fire };
  hubs.set(signal, hub);
  signal.addEventListener("abort", fire);
  return hub;
}
