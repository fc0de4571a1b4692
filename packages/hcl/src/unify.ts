import { isList, isMap, isNumber } from "./compare.ts";
import type { HclType } from "./types.ts";
import type { Value } from "./value.ts";

const ANY: HclType = { kind: "any" };

/** The narrowest type of a value; null is of any type. */
export const valueType = (v: Value): HclType => {
  if (typeof v === "string") return { kind: "string" };
  if (typeof v === "boolean") return { kind: "bool" };
  if (isNumber(v)) return { kind: "number" };
  if (isList(v)) return { kind: "tuple", elements: v.map(valueType) };
  if (!isMap(v)) return ANY;
  return { kind: "object", attributes: new Map([...v].map(([k, x]) => [k, { type: valueType(x), optional: false }])) };
};

/** One type that all the others convert to, or undefined if there is none. */
export const unifyTypes = (types: readonly HclType[]): HclType | undefined => {
  let result: HclType = ANY;
  for (const type of types) {
    const next = unifyTwo(result, type);
    if (next === undefined) return undefined;
    result = next;
  }
  return result;
};

const unifyTwo = (a: HclType, b: HclType): HclType | undefined => {
  if (a.kind === "any") return b;
  if (b.kind === "any" || a === b) return a;
  const scalar = (t: HclType): boolean => t.kind === "string" || t.kind === "number" || t.kind === "bool";
  if (scalar(a) && scalar(b)) {
    if (a.kind === b.kind) return a;
    return a.kind === "string" || b.kind === "string" ? { kind: "string" } : undefined;
  }
  if (a.kind === "object" && b.kind === "object") return unifyObjects(a, b);
  const mapElements = (t: HclType): HclType[] | undefined =>
    t.kind === "map" ? [t.element] : t.kind === "object" ? [...t.attributes.values()].map((x) => x.type) : undefined;
  const listElements = (t: HclType): readonly HclType[] | undefined =>
    t.kind === "tuple" ? t.elements : t.kind === "list" || t.kind === "set" ? [t.element] : undefined;
  if (a.kind === "tuple" && b.kind === "tuple" && a.elements.length === b.elements.length) {
    const elements = a.elements.map((x, i) => unifyTwo(x, b.elements[i] as HclType));
    if (elements.every((x) => x !== undefined)) return { kind: "tuple", elements };
  }
  const lists = [listElements(a), listElements(b)];
  const maps = [mapElements(a), mapElements(b)];
  const [kind, both] = lists[0] && lists[1] ? (["list", lists] as const) : (["map", maps] as const);
  if (!both[0] || !both[1]) return undefined;
  const element = unifyTypes([...both[0], ...both[1]]);
  return element && { kind, element };
};

type ObjectType = HclType & { kind: "object" };

/** Objects of the same names attribute by attribute, others as maps. */
const unifyObjects = (a: ObjectType, b: ObjectType): HclType | undefined => {
  if (a.attributes.size === b.attributes.size) {
    const attributes = new Map<string, { type: HclType; optional: boolean }>();
    for (const [name, x] of a.attributes) {
      const y = b.attributes.get(name);
      const type = y && unifyTwo(x.type, y.type);
      if (type === undefined) break;
      attributes.set(name, { type, optional: false });
    }
    if (attributes.size === a.attributes.size) return { kind: "object", attributes };
  }
  const element = unifyTypes([...a.attributes.values(), ...b.attributes.values()].map((x) => x.type));
  return element && { kind: "map", element };
};
