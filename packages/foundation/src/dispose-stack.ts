/** Something with an asynchronous or synchronous end. @public */
export type AnyDisposable = AsyncDisposable | Disposable;

/**
 * Collects what has to be released and releases it in reverse order. Every release is tried; several failures come as one
 * `AggregateError`. Stands in for `AsyncDisposableStack`, which Node 20 lacks. @public
 */
export class DisposeStack implements AsyncDisposable {
  #releases: Array<() => unknown> = [];
  #done: Promise<void> | undefined;

  /** Keeps a resource and gives it back. */
  use<T extends AnyDisposable>(resource: T): T {
    return this.adopt(resource, (r) => (Symbol.asyncDispose in r ? r[Symbol.asyncDispose]() : r[Symbol.dispose]()));
  }

  /** Keeps a value with the function that releases it, and gives the value back. */
  adopt<T>(value: T, release: (value: T) => unknown): T {
    this.defer(() => release(value));
    return value;
  }

  /** Keeps a release function. Throws when the stack has been disposed. */
  defer(release: () => unknown): void {
    if (this.#done !== undefined) throw new Error("dispose stack: already disposed");
    this.#releases.push(release);
  }

  /** Releases everything, last kept first. A second call waits for the first one. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#done ??= this.#run();
    return this.#done;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const release of this.#releases.splice(0).reverse()) {
      try {
        await release();
      } catch (reason) {
        failures.push(reason);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `dispose stack: ${failures.length} releases failed`);
  }
}
