/**
 * Maps an async iterable; `undefined` skips. Unlike a generator, `return()` reaches the source at once, also while `next()`
 * is pending.
 */
export function mapAsync<T, U>(
  source: AsyncIterable<T>,
  map: (item: T) => U | undefined,
): AsyncIterableIterator<U, undefined> {
  const inner = source[Symbol.asyncIterator]();
  const iterator: AsyncIterableIterator<U, undefined> = {
    async next() {
      for (;;) {
        const next = await inner.next();
        if (next.done === true) return { done: true, value: undefined };
        const value = map(next.value);
        if (value !== undefined) return { done: false, value };
      }
    },
    async return() {
      await inner.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
