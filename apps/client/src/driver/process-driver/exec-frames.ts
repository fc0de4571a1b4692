/** Output of an exec between those who produce it and the one who sends it on. */
import type { ExecOutput, ExitResult } from "@outrider/plugin-driver";

/** Chunks that wait for a slow reader before the command's output is held back. */
const MAX_QUEUED = 64;

/** Frames between producers and one consumer; producers wait when it is slow. */
export class FrameQueue {
  readonly #frames: ExecOutput[] = [];
  #finished = false;
  #failure: { readonly reason: unknown } | undefined;
  #wakeConsumer: (() => void) | undefined;
  #wakeProducers: Array<() => void> = [];

  async put(frame: ExecOutput): Promise<void> {
    this.#frames.push(frame);
    this.#wakeConsumer?.();
    if (this.#frames.length >= MAX_QUEUED && !this.#finished) {
      await new Promise<void>((resolve) => this.#wakeProducers.push(resolve));
    }
  }

  /** The last frame. */
  finish(exited: ExitResult): void {
    this.#frames.push({ exited });
    this.#finished = true;
    this.#wakeConsumer?.();
  }

  /** Ends the consumer's loop with this reason, after the frames before it. */
  fail(reason: unknown): void {
    this.#failure = { reason };
    this.#finished = true;
    this.#wakeConsumer?.();
  }

  async *frames(): AsyncGenerator<ExecOutput> {
    try {
      for (;;) {
        const frame = this.#frames.shift();
        if (frame !== undefined) {
          yield frame;
          if (frame.exited !== undefined) return;
          continue;
        }
        if (this.#failure !== undefined) throw this.#failure.reason;
        for (const wake of this.#wakeProducers.splice(0)) wake();
        await new Promise<void>((resolve) => (this.#wakeConsumer = resolve));
      }
    } finally {
      this.#finished = true;
      for (const wake of this.#wakeProducers.splice(0)) wake();
    }
  }
}
