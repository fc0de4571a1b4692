/** A socket that carries frames: reads them one by one, writes those of one turn together. */
import type { Socket } from "node:net";
import { encodeFrame, type Frame, type FrameListener, FrameReader } from "./frame-wire.ts";

/** Both ends use it. */
export class FrameSocket {
  readonly #socket: Socket;
  #waiting: Buffer[] = [];
  #closed = false;

  /** `onClose` is called once, also for {@link close}. */
  constructor(socket: Socket, listener: FrameListener, onClose: () => void) {
    this.#socket = socket;
    const reader = new FrameReader(listener);
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch {
        // whoever sends such bytes is nobody to talk with
        socket.destroy();
      }
    });
    // its end tells all there is to tell
    socket.on("error", () => undefined);
    socket.once("close", () => {
      this.#closed = true;
      onClose();
    });
  }

  /** After the end nothing is sent. */
  send(...frame: Frame): void {
    if (this.#closed) return;
    this.#waiting.push(encodeFrame(frame));
    if (this.#waiting.length === 1) process.nextTick(() => this.#flush());
  }

  /** Ends after what was sent has left. */
  close(): void {
    this.#flush();
    this.#socket.destroySoon();
  }

  #flush(): void {
    const frames = this.#waiting;
    this.#waiting = [];
    const [only] = frames;
    if (only === undefined || this.#closed) return;
    this.#socket.write(frames.length === 1 ? only : Buffer.concat(frames));
  }
}
