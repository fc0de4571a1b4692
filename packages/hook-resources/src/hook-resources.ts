import type { DeepReadonly } from "./deep-readonly.ts";
import { HookResourcesError } from "./error.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { KeyQueue } from "./key-queue.ts";
import { Notifier, type ChangeListener } from "./notifier.ts";

/** Times one update function is run again because others wrote in between; then the update fails as `CONTENDED`. @public */
export const MAX_UPDATE_RUNS = 1000;

/** A value as a writer may hand it in: own, or (a part of) one that the store gave out. @public */
export type Writable<T> = T | DeepReadonly<T>;

/** Options of {@link createHookResources}. @public */
export interface HookResourcesOptions {
  /** Gets what a change listener threw; the write itself has succeeded. Default: a process warning. */
  readonly onListenerError?: (error: unknown, key: string) => void;
}

/** A set of named values shared by parts that write at different times. @public */
export interface HookResources<Shape extends object> {
  /** The value of a key: deep-frozen, a copy, never live. */
  get<K extends keyof Shape & string>(key: K): DeepReadonly<Shape[K]>;
  /** Replaces a value at once by a copy of what is given. A pending `update` of the key runs again on top of it. */
  set<K extends keyof Shape & string>(key: K, value: Writable<Shape[K]>): void;
  /**
   * Reads, computes and writes as one step: updates of one key run one after the other in call order, and no write in between
   * is lost, because `next` is then run again with the newer value (so it must have no side effects of its own). Gives the stored value.
   * Rejects, leaving the value alone, with what `next` threw or with `signal.reason`. Waiting inside `next` for another update of
   * the same key never ends; pass a signal where that could happen.
   */
  update<K extends keyof Shape & string>(
    key: K,
    next: (previous: DeepReadonly<Shape[K]>) => Writable<Shape[K]> | Promise<Writable<Shape[K]>>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<DeepReadonly<Shape[K]>>;
  /** All values at one instant, deep-frozen. */
  snapshot(): DeepReadonly<Shape>;
  /**
   * Calls `listener(value, previous)` synchronously after each change of a key, in the order of the changes. Writing the very value
   * that is stored is no change. Dispose the result to stop.
   */
  onChange<K extends keyof Shape & string>(key: K, listener: ChangeListener<DeepReadonly<Shape[K]>>): Disposable;
  /** Adds keys with first values and gives the same store with the wider type: how third parties bring their own kinds. */
  extend<More extends object>(more: More): HookResources<Shape & More>;
}

/**
 * Makes the store. `initial` names every key: a key whose first value is an object, array, map or set never reads as `undefined`.
 * Throws {@link HookResourcesError} for values without a faithful copy. @public
 */
export function createHookResources<Shape extends object>(
  initial: Shape,
  options: HookResourcesOptions = {},
): HookResources<Shape> {
  return new Store<Shape>(initial, options) as unknown as HookResources<Shape>;
}

interface Slot {
  value: unknown;
  version: number;
  /** The first value was an object of some kind, so a reader may rely on one. */
  readonly neverUndefined: boolean;
  readonly queue: KeyQueue;
}

class Store<Shape extends object> {
  readonly #slots = new Map<string, Slot>();
  readonly #notifier: Notifier;

  constructor(initial: Shape, options: HookResourcesOptions) {
    this.#notifier = new Notifier(options.onListenerError ?? warn);
    this.extend(initial);
  }

  extend(more: object): this {
    // All values are copied before the first is stored: a refused one leaves nothing behind.
    const slots = Object.entries(more).map(([key, value]): [string, Slot] => {
      if (this.#slots.has(key)) throw new HookResourcesError("DUPLICATE_KEY", key, "exists already");
      const copy: unknown = frozenCopy(value, key);
      return [
        key,
        { value: copy, version: 0, neverUndefined: typeof copy === "object" && copy !== null, queue: new KeyQueue() },
      ];
    });
    for (const [key, slot] of slots) this.#slots.set(key, slot);
    return this;
  }

  get(key: string): unknown {
    return frozenCopy(this.#slot(key).value, key);
  }

  set(key: string, value: unknown): void {
    this.#write(key, this.#slot(key), value);
  }

  async update(
    key: string,
    next: (previous: unknown) => unknown,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<unknown> {
    const slot = this.#slot(key);
    return slot.queue.run(options.signal, async (cancelled) => {
      for (let run = 0; run < MAX_UPDATE_RUNS; run++) {
        const before = slot.version;
        const result = next(frozenCopy(slot.value, key));
        // A plain result is stored before `update` returns, as `set` would.
        const isPromise = typeof (result as { then?: unknown } | null | undefined)?.then === "function";
        const value = isPromise ? await result : result;
        if (cancelled()) return undefined;
        if (slot.version !== before) continue;
        this.#write(key, slot, value);
        return frozenCopy(slot.value, key);
      }
      throw new HookResourcesError("CONTENDED", key, `written by others during each of ${MAX_UPDATE_RUNS} runs`);
    });
  }

  snapshot(): unknown {
    const all: Record<string, unknown> = {};
    for (const [key, slot] of this.#slots) {
      Object.defineProperty(all, key, { value: frozenCopy(slot.value, key), enumerable: true });
    }
    return Object.freeze(all);
  }

  onChange(key: string, listener: ChangeListener<unknown>): Disposable {
    this.#slot(key);
    return this.#notifier.add(key, listener);
  }

  #slot(key: string): Slot {
    const slot = this.#slots.get(key);
    if (slot !== undefined) return slot;
    throw new HookResourcesError("UNKNOWN_KEY", key, `does not exist; known: ${[...this.#slots.keys()].join(", ")}`);
  }

  #write(key: string, slot: Slot, value: unknown): void {
    if (value === undefined && slot.neverUndefined) {
      throw new HookResourcesError("UNDEFINED", key, "must not become undefined");
    }
    const next: unknown = frozenCopy(value, key);
    const previous = slot.value;
    slot.version++;
    if (Object.is(next, previous)) return;
    slot.value = next;
    this.#notifier.notify(key, next, previous);
  }
}

function warn(error: unknown, key: string): void {
  process.emitWarning(`a change listener of hook resource ${JSON.stringify(key)} threw: ${String(error)}`);
}
