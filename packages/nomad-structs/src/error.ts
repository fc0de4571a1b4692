import { OutriderError } from "@outrider/foundation";

/** Codes of {@link structError}. @public */
export type StructErrorCode =
  | "ERR_OUTRIDER_STRUCTS_SYNTAX"
  | "ERR_OUTRIDER_STRUCTS_TYPE"
  | "ERR_OUTRIDER_STRUCTS_RANGE"
  | "ERR_OUTRIDER_STRUCTS_UNKNOWN_KEY"
  | "ERR_OUTRIDER_STRUCTS_TOO_DEEP"
  | "ERR_OUTRIDER_STRUCTS_TOO_LARGE";

const MAX_TEXT = 80;

/** The offending value, short enough for a message and without line breaks. */
function shown(value: unknown): string {
  let text: string | undefined;
  if (typeof value === "bigint") text = value.toString();
  else {
    try {
      text = JSON.stringify(value);
    } catch {
      text = undefined;
    }
  }
  text ??= typeof value;
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** A path as text, or what can be written as one. */
export interface PathText {
  toString(): string;
}

/** An error about one field of a body: `details` has `field` (its path) and `text` (the offending value). */
export function structError(code: StructErrorCode, path: PathText, value: unknown, why: string): OutriderError {
  const field = path.toString() || "(body)";
  const text = shown(value);
  return new OutriderError(code, `${field}: ${why}, got ${text}`, { details: { field, text } });
}

/** `a.b[0].c`, as users read it; odd keys are quoted. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${path}[${JSON.stringify(key).slice(0, MAX_TEXT)}]`;
  return path === "" ? key : `${path}.${key}`;
}
