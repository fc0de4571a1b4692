import { HttpError } from "./http-error.ts";

/** Deepest nesting of a body. */
export const MAX_BODY_DEPTH = 64;
/** Most values in a body. */
export const MAX_BODY_NODES = 200_000;

/**
 * Parses a JSON body of bounded depth and size. The bytes are looked through before the parser sees them, so that no body can
 * make it use memory or stack out of proportion. Throws 400.
 */
export function parseJsonBody(body: Buffer | undefined | null): unknown {
  if (body === undefined || body === null || body.length === 0) throw new HttpError(400, "request body is empty");
  checkShape(body);
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch (reason) {
    throw new HttpError(
      400,
      `request body is not JSON: ${reason instanceof Error ? (reason.message.split("\n")[0] ?? "") : "syntax error"}`,
    );
  }
}

/** The same, for bodies that may be left out. */
export function parseOptionalJsonBody(body: Buffer | undefined | null): unknown {
  return body === undefined || body === null || body.length === 0 ? {} : parseJsonBody(body);
}

function checkShape(body: Buffer): void {
  let depth = 0;
  let nodes = 0;
  let inString = false;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (inString) {
      if (byte === 0x5c) i += 1;
      else if (byte === 0x22) inString = false;
      continue;
    }
    if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      nodes += 1;
      if (depth > MAX_BODY_DEPTH)
        throw new HttpError(400, `request body is nested more than ${MAX_BODY_DEPTH} levels deep`);
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === 0x2c) nodes += 1;
    if (nodes > MAX_BODY_NODES) throw new HttpError(400, `request body holds more than ${MAX_BODY_NODES} values`);
  }
}

/** A body that must be an object. */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new HttpError(400, "request body must be a JSON object");
  return value as Record<string, unknown>;
}

/** A text field of a body; absent and null are empty. */
export function textField(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new HttpError(400, `${name} must be text`);
  return value;
}

/** A flag of a body; absent and null are false. */
export function flagField(body: Record<string, unknown>, name: string): boolean {
  const value = body[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new HttpError(400, `${name} must be true or false`);
  return value;
}

/** A whole number of a body, or null. */
export function numberField(body: Record<string, unknown>, name: string): number | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isSafeInteger(value))
    throw new HttpError(400, `${name} must be a whole number`);
  return value;
}
