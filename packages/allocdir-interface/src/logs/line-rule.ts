/** Where a log file may end: the arithmetic of rotation, without any file. */

/** A line up to this long is never split over two files, when a file holds at least twice as much. */
export const LINE_WINDOW_BYTES = 32 * 1024;

const NEWLINE = 0x0a;

/** A log file as far as the rule needs to know it. */
export interface FileFill {
  readonly size: number;
  readonly maxBytes: number;
  /** Offset of the line that is still open at the end of the file; equals `size` when the last byte was a newline. */
  readonly lineStart: number;
}

/** How many bytes may be appended without looking at them: the file then still has room for one whole line. */
export function blindRoom(size: number, maxBytes: number): number {
  return Math.max(0, maxBytes - size - LINE_WINDOW_BYTES);
}

/**
 * How many bytes at the front of `piece` belong into this file; 0 = the next file first. Never 0 for an empty file, and never more than
 * fits.
 */
export function bytesToTake(piece: Uint8Array, { size, maxBytes, lineStart }: FileFill): number {
  const room = maxBytes - size;
  if (piece.length === 0 || room <= 0) return 0;
  const fitting = piece.subarray(0, room);
  const lastNewline = fitting.lastIndexOf(NEWLINE);
  if (lastNewline >= 0) return lastNewline + 1;
  // no line ends here: go on with the open line, or begin one
  const startsLine = lineStart === size;
  if (!startsLine || size === 0) return fitting.length;
  if (maxBytes >= 2 * LINE_WINDOW_BYTES) {
    return maxBytes - size >= LINE_WINDOW_BYTES ? fitting.length : 0;
  }
  // tiny files: a line that ends soon goes into a fresh one, anything longer fills this one up
  const newline = piece.indexOf(NEWLINE);
  return newline >= 0 && newline + 1 <= maxBytes ? 0 : fitting.length;
}
