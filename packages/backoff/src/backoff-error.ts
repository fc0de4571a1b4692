/** Brand that every Outrider package puts on its errors, so that two installed copies still recognise them. */
const BRAND = Symbol.for("outrider.error");

/**
 * An argument that cannot be used: which one (`field`) and what was given (`text`).
 * Thrown before anything is started; it is a `RangeError`, `code` is `"invalid-argument"`.
 * @public
 */
export class BackoffRangeError extends RangeError {
  override readonly name: string = "BackoffRangeError";
  readonly code: string = "invalid-argument";
  readonly recoverable: boolean = false;
  /** The argument or option that was refused. */
  readonly field: string;
  /** The refused value as text. */
  readonly text: string;

  constructor(field: string, value: unknown, want: string) {
    const text = typeof value === "bigint" ? `${value}n` : String(value);
    super(`${field} must be ${want}, got ${text}`);
    this.field = field;
    this.text = text;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * `retry` gave up: `maxAttempts` or `maxElapsed` is used up. `cause` is the last error only, however many there were.
 * `recoverable` is true, since the last failure was a recoverable one and giving up was the caller's limit.
 * @public
 */
export class RetryExhaustedError extends Error {
  override readonly name: string = "RetryExhaustedError";
  readonly code: string = "exhausted";
  readonly recoverable: boolean = true;
  /** How often the function was called. */
  readonly attempts: number;
  /** Time from the first call to giving up, in ms of the monotonic clock. */
  readonly elapsedMs: number;

  constructor(attempts: number, elapsedMs: number, cause: unknown) {
    super(`gave up after ${attempts} attempts in ${Math.round(elapsedMs)} ms`, { cause });
    this.attempts = attempts;
    this.elapsedMs = elapsedMs;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * Throw it (or wrap an error in it) inside a retried function to stop at once: `new UnrecoverableError("bad token", { cause })`.
 * @public
 */
export class UnrecoverableError extends Error {
  override readonly name: string = "UnrecoverableError";
  readonly code: string = "unrecoverable";
  readonly recoverable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Longest chain of causes that is looked at; also what ends a cyclic chain. */
const MAX_CAUSES = 64;

/**
 * The first of `error`, `error.cause`, `error.cause.cause`, … for which `test` holds.
 * @internal
 */
export function findCause(
  error: unknown,
  test: (e: Record<string, unknown>) => boolean,
): Record<string, unknown> | undefined {
  let e = error;
  for (let i = 0; i < MAX_CAUSES && typeof e === "object" && e !== null; i++) {
    if (test(e as Record<string, unknown>)) return e as Record<string, unknown>;
    e = (e as { cause?: unknown }).cause;
  }
  return undefined;
}

/**
 * False if the error, or anything in its chain of causes, carries `recoverable === false`; true for everything else.
 * Wrapping an unrecoverable error therefore never makes it look retryable.
 * @public
 */
export function isRecoverableError(error: unknown): boolean {
  return findCause(error, (e) => e.recoverable === false) === undefined;
}
