const NEWLINES = [10, 13];
const DOT = 46;

/** What becomes of some keys. */
export interface EscapedKeys {
  readonly data: Uint8Array;
  /** The user wants to leave. */
  readonly leave: boolean;
}

/**
 * Watches for the keys by which one leaves a session whose program hangs: at the beginning of a line the escape character and a dot. The
 * character twice sends it once.
 */
export class EscapeKeys {
  readonly #escape: number | undefined;
  #lineStart = true;
  #held = false;

  /** An empty text: there is no such character. */
  constructor(escape: string) {
    this.#escape = escape === "" ? undefined : escape.charCodeAt(0);
  }

  take(keys: Uint8Array): EscapedKeys {
    const data: number[] = [];
    for (const key of keys) {
      if (this.#held) {
        this.#held = false;
        if (key === DOT) return { data: Uint8Array.from(data), leave: true };
        if (key !== this.#escape) data.push(this.#escape as number);
      } else if (this.#lineStart && key === this.#escape) {
        this.#held = true;
        this.#lineStart = false;
        continue;
      }
      data.push(key);
      this.#lineStart = NEWLINES.includes(key);
    }
    return { data: Uint8Array.from(data), leave: false };
  }
}
