import type { StreamFrame } from "../stream-frame.ts";
import { textOf } from "./expect.ts";

/** One who reads a stream of frames for as long as the case wants. */
export interface Follower {
  readonly frames: StreamFrame[];
  text(): string;
  isOver(): boolean;
  stop(): Promise<unknown>;
}

/** Begins to read. */
export function follow(make: (signal: AbortSignal) => AsyncIterable<StreamFrame>): Follower {
  const stop = new AbortController();
  const frames: StreamFrame[] = [];
  let over = false;
  const ended = (async () => {
    for await (const frame of make(stop.signal))
      frames.push({ ...frame, ...(frame.data ? { data: Uint8Array.from(frame.data) } : {}) });
  })()
    .catch((reason: unknown) => reason)
    .finally(() => (over = true));
  return {
    frames,
    text: () => textOf(frames),
    isOver: () => over,
    stop: () => {
      stop.abort(new Error("the case is over"));
      return ended;
    },
  };
}
