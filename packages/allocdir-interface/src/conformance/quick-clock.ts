import { systemClock, type Clock } from "@outrider/backoff";

/** A clock that runs so many times faster than real time, and knows how many timers wait. */
export function quickClock(speed: number): Clock & { readonly waiting: number } {
  const start = systemClock.monotonic();
  const waiting = new Set<unknown>();
  return {
    now: () => systemClock.now(),
    monotonic: () => start + (systemClock.monotonic() - start) * speed,
    setTimeout: (fn, ms) => {
      const handle = systemClock.setTimeout(() => {
        waiting.delete(handle);
        fn();
      }, ms / speed);
      waiting.add(handle);
      return handle;
    },
    clearTimeout: (handle) => {
      waiting.delete(handle);
      systemClock.clearTimeout(handle);
    },
    get waiting() {
      return waiting.size;
    },
  };
}
