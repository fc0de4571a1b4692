/** Largest piece of data in a frame, in bytes. @public */
export const FRAME_BYTES = 65_536;

/** A piece of a followed file, or word of what became of it. `offset` is the exact position after the data. @public */
export interface StreamFrame {
  readonly file?: string;
  readonly offset?: number;
  readonly data?: Uint8Array;
  readonly fileEvent?: "file deleted" | "file truncated";
}
