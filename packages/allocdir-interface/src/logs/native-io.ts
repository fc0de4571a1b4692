/** System calls that Node lacks. A caller that has a foreign function interface passes them in; without them logs work with less certainty. */

/** Tells when a pipe has something to read. @experimental */
export interface ReadinessPoller {
  /** Calls back once when the descriptor is readable; `rearm` asks for the next time. */
  add(fd: number, onReadable: () => void): void;
  rearm(fd: number): void;
  remove(fd: number): void;
  close(): void;
}

/**
 * Moves bytes inside the kernel: a collector killed at any moment has then either moved a byte into the file or left it in the pipe.
 * Each function throws an error with a `code` such as `ENOSPC`. @experimental
 */
export interface NativeLogIo {
  /** `mkfifo(3)`. */
  mkfifo(path: string, mode: number): void;
  /** `splice(2)` from a non-blocking pipe to a file offset. Answers the bytes moved; 0 = end, -1 = nothing there now. */
  splice(fromPipe: number, toFile: number, offset: number, most: number): number;
  /** `tee(2)` between non-blocking pipes, same answers. */
  tee(fromPipe: number, toPipe: number, most: number): number;
  /** A pipe, non-blocking and close-on-exec: read end, write end. */
  pipe(): [number, number];
  createPoller(): ReadinessPoller;
}
