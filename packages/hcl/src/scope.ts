import type { SplatItemExpression } from "./expressions.ts";
import type { EvalContext, HclFunction } from "./eval-types.ts";
import type { Value } from "./value.ts";

/** Names bound by for expressions and the items of splats, innermost first. */
export type Scope =
  | { readonly name: string; readonly value: Value; readonly next: Scope }
  | { readonly item: SplatItemExpression; readonly value: Value; readonly next: Scope }
  | undefined;

const own = <V>(
  table: Readonly<Record<string, V>> | ReadonlyMap<string, V> | undefined,
  name: string,
): V | undefined => {
  if (table === undefined) return undefined;
  if (table instanceof Map) return table.get(name) as V | undefined;
  return Object.hasOwn(table, name) ? (table as Readonly<Record<string, V>>)[name] : undefined;
};

/** Value of a variable in the scope or the contexts, undefined if nobody knows the name. */
export const findVariable = (name: string, scope: Scope, context: EvalContext): Value | undefined => {
  for (let s = scope; s !== undefined; s = s.next) if ("name" in s && s.name === name) return s.value;
  for (let c: EvalContext | undefined = context; c !== undefined; c = c.parent) {
    const value = own(c.variables, name);
    if (value !== undefined) return value;
  }
  return undefined;
};

/** The item that a splat's placeholder stands for. */
export const findItem = (item: SplatItemExpression, scope: Scope): Value => {
  for (let s = scope; s !== undefined; s = s.next) if ("item" in s && s.item === item) return s.value;
  return null;
};

/** A function of the contexts. */
export const findFunction = (name: string, context: EvalContext): HclFunction | undefined => {
  for (let c: EvalContext | undefined = context; c !== undefined; c = c.parent) {
    const f = own(c.functions, name);
    if (f !== undefined) return f;
  }
  return undefined;
};

/** The nearest context in the chain that has an option. */
export const withSetting = (key: "unknownTraversal" | "limits", context: EvalContext): EvalContext | undefined => {
  let c: EvalContext | undefined = context;
  while (c !== undefined && c[key] === undefined) c = c.parent;
  return c;
};
