import { OutriderError } from "@outrider/foundation";

/** One reader of a {@link Broadcaster}: a mailbox for exactly one value. @public */
export interface BroadcastListener<T> extends AsyncIterable<T>, Disposable {
  /** The newest value not yet read, waiting for one if need be; undefined once closed and read out. Rejects with the signal's reason. */
  receive(options?: { readonly signal?: AbortSignal }): Promise<T | undefined>;
  /** Ends this listener; a second call is fine. */
  close(): void;
}

/** Tells many listeners the newest value of something. @public */
export interface Broadcaster<T> {
  /** Never blocks: an unread older value is replaced. Throws `ERR_OUTRIDER_ALLOC_BROADCASTER_CLOSED` after {@link Broadcaster.close}. */
  send(value: T): void;
  /** Adds a listener; it gets the last sent value at once. After the close it is born closed. */
  listen(): BroadcastListener<T>;
  /** Closes all listeners; values already in a mailbox can still be read. A second call is fine. */
  close(): void;
}

/** Makes a broadcaster. @public */
export function createBroadcaster<T>(): Broadcaster<T> {
  const mailboxes = new Set<Mailbox<T>>();
  let last: { readonly value: T } | undefined;
  let closed = false;
  return {
    send(value) {
      if (closed) throw new OutriderError("ERR_OUTRIDER_ALLOC_BROADCASTER_CLOSED", "alloc broadcaster closed");
      last = { value };
      for (const mailbox of mailboxes) mailbox.put(last);
    },
    listen() {
      const mailbox = new Mailbox<T>((self) => mailboxes.delete(self));
      if (closed) {
        mailbox.close();
        return mailbox;
      }
      mailboxes.add(mailbox);
      if (last !== undefined) mailbox.put(last);
      return mailbox;
    },
    close() {
      closed = true;
      for (const mailbox of mailboxes) mailbox.close();
    },
  };
}

class Mailbox<T> implements BroadcastListener<T> {
  readonly #onClose: (self: Mailbox<T>) => void;
  readonly #wake = new Set<() => void>();
  #unread: { readonly value: T } | undefined;
  #closed = false;

  constructor(onClose: (self: Mailbox<T>) => void) {
    this.#onClose = onClose;
  }

  put(letter: { readonly value: T }): void {
    this.#unread = letter;
    this.#wakeAll();
  }

  async receive(options: { readonly signal?: AbortSignal } = {}): Promise<T | undefined> {
    const { signal } = options;
    for (;;) {
      signal?.throwIfAborted();
      const letter = this.#unread;
      if (letter !== undefined) {
        this.#unread = undefined;
        return letter.value;
      }
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#wake.delete(wake);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        this.#wake.add(wake);
        signal?.addEventListener("abort", wake, { once: true });
      });
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    try {
      for (;;) {
        const value = await this.receive();
        if (value === undefined) return;
        yield value;
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#closed = true;
    this.#onClose(this);
    this.#wakeAll();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake();
  }
}
