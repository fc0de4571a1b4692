/** A deep copy of a value as JSON has them: objects, lists, texts, numbers. Several times as fast as `structuredClone`, which can do more. */
export function copyPlain<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const object: Record<string, unknown> = {};
  Object.keys(value).forEach((key) => (object[key] = copy((value as Record<string, unknown>)[key])));
  return object;
}
