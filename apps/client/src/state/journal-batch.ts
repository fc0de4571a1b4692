import { OutriderError } from "@outrider/foundation";
import { MAX_RECORD_BYTES } from "./journal-format.ts";
import type { StateBatch } from "./state-store.ts";

/** A batch as it is stored: values are JSON texts, so that later changes by the caller have no effect. */
export interface EncodedBatch {
  readonly put: ReadonlyArray<readonly [key: string, json: string]>;
  readonly delete: readonly string[];
  readonly deletePrefix: readonly string[];
}

/** Turns a batch into its stored form. Throws ERR_OUTRIDER_STATE_VALUE for what JSON cannot hold or what is too long. */
export function encodeBatch(batch: StateBatch): EncodedBatch {
  const put: Array<[string, string]> = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(batch.put ?? {})) {
    let json: string | undefined;
    try {
      json = JSON.stringify(value);
    } catch (cause) {
      throw new OutriderError("ERR_OUTRIDER_STATE_VALUE", `state: value of ${key} is not plain JSON`, {
        cause,
        details: { key },
      });
    }
    if (json === undefined) {
      throw new OutriderError("ERR_OUTRIDER_STATE_VALUE", `state: value of ${key} is not plain JSON`, {
        details: { key },
      });
    }
    bytes += json.length * 3 + key.length * 3;
    put.push([key, json]);
  }
  if (bytes > MAX_RECORD_BYTES) {
    throw new OutriderError(
      "ERR_OUTRIDER_STATE_VALUE",
      `state: batch of about ${bytes} bytes exceeds ${MAX_RECORD_BYTES}`,
    );
  }
  return { put, delete: batch.delete ?? [], deletePrefix: batch.deletePrefix ?? [] };
}

/** Text of one batch inside a record. */
export function batchToJson(batch: EncodedBatch): string {
  const puts = batch.put.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(",");
  return `{"x":${JSON.stringify(batch.deletePrefix)},"d":${JSON.stringify(batch.delete)},"p":{${puts}}}`;
}

/** Reads batches back from a parsed record. */
export function batchFromJson(value: unknown): EncodedBatch {
  const raw = value as { x?: string[]; d?: string[]; p?: Record<string, unknown> };
  return {
    deletePrefix: raw.x ?? [],
    delete: raw.d ?? [],
    put: Object.entries(raw.p ?? {}).map(([key, v]) => [key, JSON.stringify(v)] as const),
  };
}

/** Applies a batch to the map that reads are answered from. */
export function applyBatch(map: Map<string, string>, batch: EncodedBatch): void {
  for (const prefix of batch.deletePrefix) {
    for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key);
  }
  for (const key of batch.delete) map.delete(key);
  for (const [key, json] of batch.put) map.set(key, json);
}

/** Whether a batch would change nothing, so that it need not be written. */
export function isNoop(map: ReadonlyMap<string, string>, batch: EncodedBatch): boolean {
  if (batch.put.some(([key, json]) => map.get(key) !== json)) return false;
  if (batch.delete.some((key) => map.has(key))) return false;
  if (batch.deletePrefix.length === 0) return true;
  for (const key of map.keys()) if (batch.deletePrefix.some((prefix) => key.startsWith(prefix))) return false;
  return true;
}
