/** The codes of {@link HookResourcesError}. @public */
export type HookResourcesErrorCode =
  | "UNKNOWN_KEY"
  | "DUPLICATE_KEY"
  | "UNDEFINED"
  | "UNCOPYABLE"
  | "TOO_DEEP"
  | "CONTENDED";

/** The error of this package: a stable `code`, the key that was touched and the path inside its value. @public */
export class HookResourcesError extends Error {
  override readonly name = "HookResourcesError";
  readonly code: HookResourcesErrorCode;
  /** Whether doing the same again may succeed. */
  readonly recoverable: boolean;
  /** The resource's key. */
  readonly key: string;
  /** Where inside the value, for example `mounts.data.0`; the key itself when the value as a whole is meant. */
  readonly path: string;

  constructor(code: HookResourcesErrorCode, key: string, problem: string, path: string = key) {
    super(`hook resource ${JSON.stringify(path)}: ${problem}`);
    this.code = code;
    this.key = key;
    this.path = path;
    this.recoverable = code === "CONTENDED";
    // The mark of every Outrider package's errors.
    Object.defineProperty(this, Symbol.for("outrider.error"), { value: true });
  }
}
