/** Brand that every Outrider package puts on its errors, so that two installed copies still recognise them. */
const BRAND = Symbol.for("outrider.error");

/**
 * An argument that cannot be used; thrown before anything is started.
 * @public
 */
export interface BackoffRangeError extends RangeError {
  readonly code: "invalid-argument";
  /** The argument or option that was refused. */
  readonly field: string;
  /** The refused value as text. */
  readonly text: string;
  readonly recoverable: false;
}

/** A `RangeError` that names the argument, what it must be, and what was given. */
export function rangeError(field: string, value: unknown, want: string): BackoffRangeError {
  const text = String(value);
  return Object.assign(new RangeError(`${field} must be ${want}, got ${text}`), {
    [BRAND]: true,
    code: "invalid-argument",
    field,
    text,
    recoverable: false,
  } as const);
}

/**
 * `retry` gave up: `maxAttempts` or `maxElapsed` is used up. `cause` is the last error only, however many there were.
 * `recoverable` is true, since the last failure was a recoverable one and giving up was the caller's limit.
 * @public
 */
export class RetryExhaustedError extends Error {
  declare readonly code: "exhausted";
  declare readonly recoverable: true;
  /** How often the function was called. */
  declare readonly attempts: number;
  /** Time from the first call to giving up, in ms of the monotonic clock. */
  declare readonly elapsedMs: number;

  constructor(attempts: number, elapsedMs: number, cause: unknown) {
    super(`gave up after ${attempts} attempts in ${elapsedMs} ms`, { cause });
    Object.assign(this, { [BRAND]: true, code: "exhausted", recoverable: true, attempts, elapsedMs });
  }
}

/**
 * Throw it (or wrap an error in it) inside a retried function to stop at once: `new UnrecoverableError("bad token", { cause })`.
 * @public
 */
export class UnrecoverableError extends Error {
  declare readonly code: "unrecoverable";
  declare readonly recoverable: false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    Object.assign(this, { [BRAND]: true, code: "unrecoverable", recoverable: false });
  }
}

/** An error and its causes, outermost first; 64 of them at most, which also ends a cyclic chain. */
export function chainOf(error: unknown): Record<string, unknown>[] {
  const chain: Record<string, unknown>[] = [];
  for (
    let e = error as Record<string, unknown> | null;
    typeof e === "object" && e && chain.length < 64;
    e = e.cause as typeof e
  ) {
    chain.push(e);
  }
  return chain;
}

/** Whether this error itself says that trying again is useless. */
export const isFinal = (e: Record<string, unknown>): boolean => e.recoverable === false;

/**
 * False if the error, or anything in its chain of causes, carries `recoverable === false`; true for everything else.
 * Wrapping an unrecoverable error therefore never makes it look retryable.
 * @public
 */
export function isRecoverableError(error: unknown): boolean {
  return !chainOf(error).some(isFinal);
}
