import type { HclNumber } from "./number.ts";

/**
 * A value without parts.
 * @public
 */
export type Scalar = null | boolean | string | number | HclNumber;

/**
 * A value of the language. Lists, sets and tuples are arrays, maps and objects are `Map`s in the order of their keys'
 * creation. A number is a JavaScript number exactly when that loses nothing (its shortest decimal text is the value's);
 * otherwise it is an {@link HclNumber}.
 * @public
 */
export type Value = Scalar | readonly Value[] | ValueMap;

/**
 * Maps and objects. A `Map`, so that keys like `__proto__` are data.
 * @public
 */
export type ValueMap = ReadonlyMap<string, Value>;
