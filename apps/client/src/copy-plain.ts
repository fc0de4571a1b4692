/** A deep copy of a value as JSON has them: objects, lists, texts, numbers. Several times as fast as `structuredClone`, which can do more. */
export function copyPlain<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) list.push(copy(item));
    return list;
  }
  const object: Record<string, unknown> = {};
  for (const key of Object.keys(value)) object[key] = copy((value as Record<string, unknown>)[key]);
  return object;
}
