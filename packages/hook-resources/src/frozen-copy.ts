import { HookResourcesError } from "./error.ts";
import { closeMap, closeSet } from "./frozen-collections.ts";

/** Deepest nesting of a value; deeper ones are refused instead of overflowing the stack. @public */
export const MAX_DEPTH = 1000;

// Objects and arrays made here that hold nothing a holder could change: they are shared instead of copied again.
const sealed = new WeakSet<object>();

/** Whether a value is shared safely as it is: a primitive, or a tree made by {@link frozenCopy} without open parts. @internal */
export function isSealed(value: unknown): boolean {
  return typeof value !== "object" || value === null || sealed.has(value);
}

/**
 * A deep copy that nobody can change: objects and arrays frozen, maps and sets with throwing setters. Dates and byte arrays cannot be
 * frozen in JavaScript: they are copied. Cycles and shared parts keep their shape. Throws {@link HookResourcesError} for what has no
 * faithful copy (functions, class instances, symbols). @internal
 */
export function frozenCopy<T>(value: T, key: string): T {
  if (isSealed(value)) return checkPrimitive(value, key, key) as T;
  const walk: Walk = { key, seen: new Map(), open: false, made: [] };
  const copy = copyObject(value as object, key, 0, walk) as T;
  if (!walk.open) for (const object of walk.made) sealed.add(object);
  return copy;
}

interface Walk {
  readonly key: string;
  readonly seen: Map<object, object>;
  /** Plain objects and arrays made by this walk. */
  readonly made: object[];
  /** Whether the tree holds a part that cannot be frozen for good. */
  open: boolean;
}

function copyAny(value: unknown, path: string, depth: number, walk: Walk): unknown {
  if (isSealed(value)) return checkPrimitive(value, path, walk.key);
  return copyObject(value as object, path, depth, walk);
}

function checkPrimitive(value: unknown, path: string, key: string): unknown {
  if (typeof value === "function" || typeof value === "symbol") throw uncopyable(key, path, `a ${typeof value}`);
  return value;
}

function copyObject(value: object, path: string, depth: number, walk: Walk): object {
  const known = walk.seen.get(value);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH) {
    const text = `hook resource ${quote(walk.key)}: nested deeper than ${MAX_DEPTH} levels`;
    throw new HookResourcesError("TOO_DEEP", text, { key: walk.key, path });
  }
  if (Array.isArray(value)) return copyArray(value, path, depth, walk);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || isObjectPrototype(prototype)) return copyPlain(value, path, depth, walk);
  const exotic = copyExotic(value, path, depth, walk);
  if (exotic === undefined) {
    const name = (value.constructor as { name?: string } | undefined)?.name;
    throw uncopyable(walk.key, path, `an instance of ${name === undefined || name === "" ? "a nameless class" : name}`);
  }
  walk.open = true;
  return exotic;
}

// Plain objects of another realm (vm contexts, some test runners) have another Object.prototype.
function isObjectPrototype(prototype: unknown): boolean {
  return (
    prototype === Object.prototype ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf"))
  );
}

function copyArray(value: readonly unknown[], path: string, depth: number, walk: Walk): object {
  const copy: unknown[] = Array.from({ length: value.length });
  walk.seen.set(value, copy);
  for (let i = 0; i < value.length; i++) copy[i] = copyAny(value[i], `${path}[${i}]`, depth + 1, walk);
  walk.made.push(copy);
  return Object.freeze(copy);
}

function copyPlain(value: object, path: string, depth: number, walk: Walk): object {
  const copy = Object.create(Object.getPrototypeOf(value) === null ? null : Object.prototype) as Record<
    PropertyKey,
    unknown
  >;
  walk.seen.set(value, copy);
  for (const name of Reflect.ownKeys(value)) {
    if (!Object.prototype.propertyIsEnumerable.call(value, name)) continue;
    const part = copyAny((value as Record<PropertyKey, unknown>)[name], `${path}.${String(name)}`, depth + 1, walk);
    // A key "__proto__" must become a property, not the prototype.
    if (name === "__proto__") Object.defineProperty(copy, name, { value: part, enumerable: true });
    else copy[name] = part;
  }
  walk.made.push(copy);
  return Object.freeze(copy);
}

function copyExotic(value: object, path: string, depth: number, walk: Walk): object | undefined {
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>();
    walk.seen.set(value, copy);
    for (const [k, v] of value) {
      const at = `${path}.${typeof k === "object" ? "(an object key)" : String(k)}`;
      copy.set(copyAny(k, at, depth + 1, walk), copyAny(v, at, depth + 1, walk));
    }
    return closeMap(copy);
  }
  if (value instanceof Set) {
    const copy = new Set<unknown>();
    walk.seen.set(value, copy);
    for (const v of value) copy.add(copyAny(v, path, depth + 1, walk));
    return closeSet(copy);
  }
  if (value instanceof Date) return kept(walk, value, new Date(value.getTime()));
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return kept(walk, value, structuredClone(bytesOf(value)));
  return undefined;
}

// A Buffer or a sub-array may show a slice of a large shared pool: only the slice is copied.
function bytesOf(value: ArrayBufferView | ArrayBuffer): ArrayBufferView | ArrayBuffer {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  return value;
}

function kept<T extends object>(walk: Walk, from: object, copy: T): T {
  walk.seen.set(from, copy);
  return copy;
}

function uncopyable(key: string, path: string, what: string): HookResourcesError {
  const where = path === key ? "the value" : quote(path);
  const text = `hook resource ${quote(key)}: ${where} is ${what}, which has no frozen copy`;
  return new HookResourcesError("UNCOPYABLE", text, { key, path });
}

const quote = (text: string): string => JSON.stringify(text);
