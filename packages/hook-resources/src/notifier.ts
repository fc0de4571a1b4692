import { frozenCopy } from "./frozen-copy.ts";

/** Called after a change with the value now stored and the one before. @public */
export type ChangeListener<T> = (value: T, previous: T) => void;

interface Change {
  readonly key: string;
  readonly value: unknown;
  readonly previous: unknown;
}

/** Delivers changes in the order in which they happened, also when a listener writes again. @internal */
export class Notifier {
  readonly #listeners = new Map<string, Set<{ readonly fn: ChangeListener<unknown> }>>();
  readonly #onError: (error: unknown, key: string) => void;
  #pending: Change[] | undefined;

  constructor(onError: (error: unknown, key: string) => void) {
    this.#onError = onError;
  }

  add(key: string, fn: ChangeListener<unknown>): Disposable {
    const entry = { fn };
    const all = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, all.add(entry));
    return { [Symbol.dispose]: () => void all.delete(entry) };
  }

  notify(key: string, value: unknown, previous: unknown): void {
    if (this.#pending !== undefined) {
      // Written from inside a listener: the others first hear of the change before this one.
      this.#pending.push({ key, value, previous });
      return;
    }
    const pending: Change[] = [{ key, value, previous }];
    this.#pending = pending;
    for (let change = pending.shift(); change !== undefined; change = pending.shift()) this.#deliver(change);
    this.#pending = undefined;
  }

  #deliver({ key, value, previous }: Change): void {
    const all = this.#listeners.get(key);
    if (all === undefined) return;
    // A listener added by a listener hears only later changes, a removed one nothing more.
    const atStart = [...all];
    for (const entry of atStart) {
      if (!all.has(entry)) continue;
      try {
        entry.fn(frozenCopy(value, key), frozenCopy(previous, key));
      } catch (error) {
        this.#report(error, key);
      }
    }
  }

  #report(error: unknown, key: string): void {
    try {
      this.#onError(error, key);
    } catch {
      // The reporter is the last place to tell; a write must not fail because of it.
    }
  }
}
