/** A queue whose writers wait while its reader is slow. */
import { MessageQueue } from "./message-queue.ts";

/** What is written is read in order by one reader, who may leave at any moment. */
export class PushQueue<T> {
  readonly #queue: MessageQueue<T>;
  #room: Promise<void> = Promise.resolve();
  #makeRoom: () => void = () => undefined;

  /** `onRelease` is called once, at the end or when the reader leaves. */
  constructor(onRelease: () => void = () => undefined) {
    this.#queue = new MessageQueue<T>({
      pause: () => {
        this.#room = new Promise((resolve) => (this.#makeRoom = resolve));
      },
      resume: () => this.#makeRoom(),
      release: () => {
        this.#makeRoom();
        onRelease();
      },
    });
  }

  get reader(): AsyncIterableIterator<T, undefined> {
    return this.#queue;
  }

  /** Resolves when there is room for more, or nobody reads any more. */
  write(item: T): Promise<void> {
    this.#queue.push(item);
    return this.#room;
  }

  end(): void {
    this.#queue.end();
  }

  fail(reason: unknown): void {
    this.#queue.fail(reason);
  }
}
