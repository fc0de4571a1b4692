/**
 * A signal that is given once: one promise for everybody, and a look at whether it was given.
 * @public
 */
export interface Latch {
  readonly promise: Promise<void>;
  readonly isSet: boolean;
  /** Gives the signal; again is fine. */
  set(): void;
}

/** Makes a latch. @public */
export function createLatch(): Latch {
  let resolve: () => void = () => undefined;
  let isSet = false;
  const promise = new Promise<void>((r) => {
    resolve = r;
  });
  return {
    promise,
    get isSet() {
      return isSet;
    },
    set() {
      isSet = true;
      resolve();
    },
  };
}
