/** Reads the msgpack bytes that a driver gets for its configuration. */
import { decode } from "@msgpack/msgpack";
import { RecoverableError } from "../contract/errors.ts";
import { msgpackFault } from "./check-msgpack.ts";

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null && !(value instanceof Uint8Array)) {
    for (const [key, inner] of Object.entries(value)) (value as Record<string, unknown>)[key] = plain(inner);
  }
  return value;
}

/**
 * Plain data: integers beyond 2^53 as bigint, and numbers that are no exact double as the decimal text they travel in. Empty bytes
 * are an empty block.
 * @throws {@link RecoverableError} (not recoverable) for bytes that are no msgpack, or nested deeper than 128
 * @public
 */
export function decodeMsgpack(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  const fault = msgpackFault(bytes);
  if (fault !== undefined) throw new RecoverableError(`failed to decode driver config: it ${fault}`, false);
  try {
    return plain(decode(bytes, { useBigInt64: true }));
  } catch (reason) {
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new RecoverableError(`failed to decode driver config: ${why}`, false, { cause: reason });
  }
}
