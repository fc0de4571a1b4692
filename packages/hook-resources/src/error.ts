const BRAND = Symbol.for("outrider.error");

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
  /** Where inside the value, for example `mounts.data[0]`; the key itself when the value as a whole is meant. */
  readonly path: string;

  constructor(
    code: HookResourcesErrorCode,
    message: string,
    at: { key: string; path?: string; recoverable?: boolean },
  ) {
    super(message);
    this.code = code;
    this.key = at.key;
    this.path = at.path ?? at.key;
    this.recoverable = at.recoverable ?? false;
    Object.defineProperty(this, BRAND, { value: true });
  }
}
