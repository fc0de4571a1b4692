import type {
  Expression,
  ForExpression,
  ObjectExpression,
  SplatExpression,
  TemplateExpression,
  TemplateForExpression,
} from "./expressions.ts";
import { isList, isMap, sortedEntries } from "./compare.ts";
import { toText, typeName } from "./convert.ts";
import { type EvalState, FAILED } from "./eval-state.ts";
import { condition } from "./evaluate-operators.ts";
import { keyword } from "./ranges.ts";
import type { Scope } from "./scope.ts";
import type { Value } from "./value.ts";

/** The text of a template. */
export const template = (s: EvalState, e: TemplateExpression, scope: Scope): string => {
  let text = "";
  let failed = false;
  for (const part of e.parts) {
    try {
      const piece =
        part.kind === "literal" && typeof part.value === "string"
          ? part.value
          : asText(s, s.evaluate(part, scope), part);
      s.charge(1, piece.length);
      text += piece;
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  }
  if (failed) throw FAILED;
  return text;
};

const asText = (s: EvalState, value: Value, e: Expression): string =>
  toText(value) ??
  s.fail(
    "invalid-template-value",
    "Value does not fit in a text",
    `A string, number or bool is needed here, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );

/** Keys and values of what a `for` runs over. */
const iterate = (s: EvalState, e: Expression, scope: Scope): [Value, Value][] => {
  const value = s.evaluate(e, scope);
  if (isList(value)) return value.map((v, i) => [i, v]);
  if (value !== null && isMap(value)) return sortedEntries(value);
  return s.fail(
    "invalid-iteration",
    "Not a collection",
    `"for" runs over a list or map, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );
};

const bind = (e: { keyName: string | undefined; valueName: string }, key: Value, value: Value, scope: Scope): Scope => {
  const outer: Scope = e.keyName === undefined ? scope : { name: e.keyName, value: key, next: scope };
  return { name: e.valueName, value, next: outer };
};

/** `%{for}…%{endfor}`. */
export const templateFor = (s: EvalState, e: TemplateForExpression, scope: Scope): string => {
  let text = "";
  for (const [key, value] of iterate(s, e.collection, scope)) {
    s.charge(1);
    text += template(s, e.body, bind(e, key, value, scope));
  }
  return text;
};

/** `[for …]` and `{for …}`. */
export const forExpression = (s: EvalState, e: ForExpression, scope: Scope): Value => {
  const entries = iterate(s, e.collection, scope);
  const list: Value[] = [];
  const map = new Map<string, Value>();
  for (const [key, value] of entries) {
    s.charge(1, 1);
    const inner = bind(e, key, value, scope);
    if (e.condition !== undefined && !condition(s, e.condition, inner)) continue;
    if (e.key === undefined) {
      list.push(s.evaluate(e.value, inner));
      continue;
    }
    const name = keyText(s, s.evaluate(e.key, inner), e.key);
    const item = s.evaluate(e.value, inner);
    if (e.grouping) {
      const group = map.get(name) as Value[] | undefined;
      if (group) group.push(item);
      else map.set(name, [item]);
    } else if (map.has(name)) {
      s.fail(
        "duplicate-object-key",
        "Key given twice",
        `Two items have the key ${JSON.stringify(name)}. Put "..." behind the value to collect them in lists.`,
        e.key.range,
        e.range,
      );
    } else map.set(name, item);
  }
  return e.key === undefined ? list : map;
};

const keyText = (s: EvalState, value: Value, e: Expression): string =>
  toText(value) ??
  s.fail(
    "invalid-object-key",
    "Invalid key",
    `A key is a string, not ${value === null ? "null" : `a ${typeName(value)}`}.`,
    e.range,
  );

/** `{ key = value … }`; the last of equal keys counts. */
export const object = (s: EvalState, e: ObjectExpression, scope: Scope): Value => {
  s.charge(0, e.items.length);
  const out = new Map<string, Value>();
  let failed = false;
  for (const item of e.items) {
    try {
      const key = keyText(s, s.evaluate(item.key, scope), item.key);
      out.set(key, s.evaluate(item.value, scope));
    } catch (error) {
      if (error !== FAILED) throw error;
      failed = true;
    }
  }
  if (failed) throw FAILED;
  return out;
};

/** A bare word is itself. */
export const objectKey = (s: EvalState, e: Expression, scope: Scope): Value => {
  const word = keyword(e);
  if (word !== undefined) return word;
  if (e.kind === "traversal") {
    return s.fail(
      "invalid-object-key",
      "Ambiguous key",
      "Put a reference in parentheses, or a name with dots in quotes.",
      e.range,
    );
  }
  return s.evaluate(e, scope);
};

/** `source[*].each`. */
export const splat = (s: EvalState, e: SplatExpression, scope: Scope): Value => {
  const source = s.evaluate(e.source, scope);
  // Null has no items; a single value is its own only item.
  const items = source === null ? [] : isList(source) ? source : [source];
  s.charge(items.length, items.length);
  return items.map((value) => s.evaluate(e.each, { item: e.item, value, next: scope }));
};
