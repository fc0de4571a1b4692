const BRAND = Symbol.for("outrider.error");

/** The codes of {@link HookTelemetryError}. @public */
export type HookTelemetryErrorCode = "OPTION" | "KIND" | "CLOSED";

/** The error of this package: a stable `code`, the field that is wrong and the offending text. @public */
export class HookTelemetryError extends Error {
  override readonly name = "HookTelemetryError";
  readonly code: HookTelemetryErrorCode;
  /** The option or argument that is wrong. */
  readonly field: string;
  /** What was given, as text. */
  readonly text: string;
  /** Never: the same call fails again. */
  readonly recoverable = false;

  constructor(code: HookTelemetryErrorCode, field: string, given: unknown, expected: string) {
    const text = typeof given === "string" ? given : String(given);
    super(`hook telemetry: ${field} must be ${expected}, got ${JSON.stringify(text)}`);
    this.code = code;
    this.field = field;
    this.text = text;
    Object.defineProperty(this, BRAND, { value: true });
  }
}
