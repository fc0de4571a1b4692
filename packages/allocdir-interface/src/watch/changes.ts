import { AllocDirError } from "../alloc-dir-error.ts";
import type { AllocDirFS } from "../alloc-dir-fs.ts";

/** What a reader at the end of a file waits for: something about the file, or about the directory that gets its successors. */
export class Changes {
  /** The name of the file has gone, or means another one. */
  deleted = false;
  /** The directory has changed since this was set to false. */
  listing = true;
  readonly #stop = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onAbort: () => void;
  #woken = false;
  #wake: (() => void) | undefined;
  #failure: { readonly reason: unknown } | undefined;

  constructor(
    fs: Pick<AllocDirFS, "changeEvents">,
    o: { readonly file?: string; readonly size?: number; readonly dir?: string; readonly signal: AbortSignal },
  ) {
    this.#outer = o.signal;
    this.#onAbort = () => this.#stop.abort(o.signal.reason);
    if (o.signal.aborted) this.#onAbort();
    o.signal.addEventListener("abort", this.#onAbort, { once: true });
    const { signal } = this.#stop;
    if (o.file !== undefined) void this.#followFile(fs.changeEvents(o.file, o.size ?? 0, { signal }));
    if (o.dir !== undefined) void this.#followDir(fs.changeEvents(o.dir, 0, { signal }));
  }

  /** Resolves once something has happened since the last call. Rejects with the reason of the signal, or of a watch that failed. */
  async next(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    if (!this.#woken && this.#failure === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#woken = false;
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  close(): void {
    this.#outer.removeEventListener("abort", this.#onAbort);
    this.#stop.abort();
  }

  async #followFile(events: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const event of events) {
        if (event === "deleted") break;
        this.#notify();
      }
      this.deleted = true;
    } catch (reason) {
      if (reason instanceof AllocDirError && reason.code === "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND") this.deleted = true;
      else this.#failure ??= { reason };
    }
    this.#notify();
  }

  async #followDir(events: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const _event of events) {
        this.listing = true;
        this.#notify();
      }
    } catch (reason) {
      this.#failure ??= { reason };
      this.#notify();
    }
  }

  #notify(): void {
    this.#woken = true;
    this.#wake?.();
    this.#wake = undefined;
  }
}
