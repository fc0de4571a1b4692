/** Marks errors of every Outrider package, also across two installed copies of one. */
const BRAND = Symbol.for("outrider.error");

/** A value that survives JSON: what `details` of an error may hold. @public */
export type PlainJson = null | boolean | number | string | readonly PlainJson[] | { readonly [key: string]: PlainJson };

/** Options of an {@link OutriderError}. @public */
export interface OutriderErrorOptions {
  /** What led to it; never part of the message. */
  readonly cause?: unknown;
  /** Whether trying again may help (Nomad's flag of the same name). Default false. */
  readonly recoverable?: boolean;
  /** Facts for programs: field, offending text, limits. */
  readonly details?: { readonly [key: string]: PlainJson };
}

/** The error of Outrider packages from layer 1 up. `code` is `ERR_OUTRIDER_<AREA>_<REASON>` and never reused. @public */
export class OutriderError extends Error {
  override readonly name: string = "OutriderError";
  readonly code: string;
  readonly recoverable: boolean;
  readonly details: { readonly [key: string]: PlainJson };

  constructor(code: string, message: string, options: OutriderErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.recoverable = options.recoverable ?? false;
    this.details = options.details ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }

  /**
   * Normalises a foreign failure at a boundary: an Outrider error comes back as it is, anything else becomes the cause
   * of a new error with the given code.
   */
  static from(reason: unknown, code: string, prefix?: string): BrandedError {
    if (isOutriderError(reason)) return reason;
    const text = reason instanceof Error ? reason.message : String(reason);
    return new OutriderError(code, prefix === undefined ? text : `${prefix}: ${text}`, { cause: reason });
  }
}

/** What {@link isOutriderError} promises of a value: also true for the small error classes of layer 0 packages. @public */
export interface BrandedError extends Error {
  readonly code: string;
  readonly recoverable: boolean;
}

/** Whether a value is an error of any Outrider package (and has this code), by brand, not by prototype. @public */
export function isOutriderError(value: unknown, code?: string): value is BrandedError {
  if (typeof value !== "object" || value === null) return false;
  if ((value as Record<symbol, unknown>)[BRAND] !== true) return false;
  return code === undefined || (value as { code?: unknown }).code === code;
}
