import { applyBatch, encodeBatch } from "./journal-batch.ts";
import type { StateStore } from "./state-store.ts";

/** A store that keeps nothing beyond the process: for the simulator and for tests of other rooms. */
export function createMemoryStore(): StateStore {
  const map = new Map<string, string>();
  return {
    quarantined: [],
    get: <T>(key: string) => {
      const json = map.get(key);
      return json === undefined ? undefined : (JSON.parse(json) as T);
    },
    list: <T>(prefix: string) =>
      [...map.keys()]
        .filter((key) => key.startsWith(prefix))
        .sort()
        .map((key): [string, T] => [key, JSON.parse(map.get(key) as string) as T]),
    write: async (batch) => applyBatch(map, encodeBatch(batch)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}
