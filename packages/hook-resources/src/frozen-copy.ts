import { HookResourcesError } from "./error.ts";
import { close } from "./frozen-collections.ts";

/** Deepest nesting of a value; deeper ones are refused instead of overflowing the stack. @public */
export const MAX_DEPTH = 1000;

// Objects and arrays made here that hold nothing a holder could change: they are shared instead of copied again.
const sealed = new WeakSet<object>();

/**
 * A deep copy that nobody can change: objects and arrays frozen, maps and sets with throwing setters. Dates and byte arrays cannot be
 * frozen in JavaScript: they are copied. Cycles and shared parts keep their shape. Throws {@link HookResourcesError} for what has no
 * faithful copy (functions, class instances, symbols). @internal
 */
export function frozenCopy<T>(value: T, key: string): T {
  return isSealed(value) ? value : (new Copier(key).copy(value) as T);
}

// A primitive, or a tree made here that is closed for good.
function isSealed(value: unknown): boolean {
  if (typeof value === "object") return value === null || sealed.has(value);
  return typeof value !== "function" && typeof value !== "symbol";
}

class Copier {
  readonly #key: string;
  readonly #seen = new Map<unknown, object>();
  /** The names on the way to the part that is copied now. */
  readonly #trail: unknown[] = [];

  constructor(key: string) {
    this.#key = key;
  }

  /** Of something that is not sealed. */
  copy(from: unknown): unknown {
    if (typeof from !== "object") throw this.#uncopyable(`a ${typeof from}`);
    const known = this.#seen.get(from);
    if (known !== undefined) return known;
    if (this.#trail.length > MAX_DEPTH) throw this.#error("TOO_DEEP", `nested deeper than ${MAX_DEPTH} levels`);
    const copy = this.#start(from as object);
    this.#seen.set(from, copy);
    if (copy instanceof Map)
      for (const [k, v] of from as Map<unknown, unknown>) copy.set(this.#part(k, k), this.#part(v, k));
    else if (copy instanceof Set) for (const v of from as Set<unknown>) copy.add(this.#part(v, from));
    else if (isPlain(copy)) return this.#fill(from as object, copy);
    else return copy;
    return close(copy);
  }

  #part(value: unknown, name: unknown): unknown {
    if (isSealed(value)) return value;
    this.#trail.push(name);
    const copy = this.copy(value);
    this.#trail.pop();
    return copy;
  }

  #fill(from: object, copy: Record<PropertyKey, unknown>): object {
    let closed = true;
    for (const name of Reflect.ownKeys(from)) {
      if (!Object.prototype.propertyIsEnumerable.call(from, name)) continue;
      const value = this.#part((from as Record<PropertyKey, unknown>)[name], name);
      closed &&= isSealed(value);
      // A key "__proto__" must become a property, not the prototype.
      if (name === "__proto__") Object.defineProperty(copy, name, { value, enumerable: true });
      else copy[name] = value;
    }
    if (closed) sealed.add(copy);
    return Object.freeze(copy);
  }

  /** The copy without its parts. */
  #start(from: object): object {
    if (from instanceof Map) return new Map();
    if (from instanceof Set) return new Set();
    if (from instanceof Date) return new Date(from.getTime());
    // A Buffer or a sub-array may show a slice of a large shared pool: only the slice is copied.
    if (from instanceof Uint8Array) return Uint8Array.from(from);
    if (ArrayBuffer.isView(from) || from instanceof ArrayBuffer) return structuredClone(from);
    if (Array.isArray(from)) return Array.from({ length: from.length });
    if (isPlain(from)) return Object.getPrototypeOf(from) === null ? (Object.create(null) as object) : {};
    const name = (from.constructor as { name?: string } | undefined)?.name;
    throw this.#uncopyable(`an instance of ${name || "a nameless class"}`);
  }

  #uncopyable(what: string): HookResourcesError {
    return this.#error("UNCOPYABLE", `holds ${what}, which has no frozen copy`);
  }

  #error(code: "UNCOPYABLE" | "TOO_DEEP", problem: string): HookResourcesError {
    // Names are keys of objects, or whatever a map has for keys.
    const path = this.#trail.map((name) => (typeof name === "object" ? "{…}" : String(name as PropertyKey)));
    return new HookResourcesError(code, this.#key, problem, [this.#key, ...path].join("."));
  }
}

function isPlain(value: object): value is Record<PropertyKey, unknown> {
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Another realm (vm contexts, some test runners) has another Object.prototype.
  return (
    prototype === null ||
    Array.isArray(value) ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf"))
  );
}
