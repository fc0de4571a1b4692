import type { Expression } from "./expressions.ts";
import type { Diagnostic, Range } from "./diagnostic.ts";
import { convertValue } from "./convert.ts";
import { keyword, startRange, staticString } from "./ranges.ts";
import { sourceText } from "./source.ts";
import type { HclType, ObjectAttributeType } from "./types.ts";
import type { Value } from "./value.ts";

class Refused extends Error {
  readonly range: Range;

  constructor(message: string, range: Range) {
    super(message);
    this.range = range;
  }
}

/**
 * What {@link decodeType} gives.
 * @public
 */
export interface DecodeTypeResult {
  readonly type: HclType | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

type Evaluate = (e: Expression) => Value | undefined;

/** Reads an expression as a type; defaults of optional attributes are evaluated by the function given. */
export const decodeTypeWith = (e: Expression, evaluate: Evaluate): DecodeTypeResult => {
  try {
    return { type: decode(e, evaluate), diagnostics: [] };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return {
      type: undefined,
      diagnostics: [
        {
          severity: "error",
          code: "invalid-type",
          summary: "Invalid type",
          detail: error.message,
          subject: error.range,
        },
      ],
    };
  }
};

const decode = (e: Expression, evaluate: Evaluate): HclType => {
  const word = keyword(e);
  if (word !== undefined) {
    if (word === "string" || word === "number" || word === "bool" || word === "any") return { kind: word };
    if (word === "list" || word === "set" || word === "map") return { kind: word, element: { kind: "any" } };
    throw new Refused(
      `${JSON.stringify(word)} is no type; there are string, number, bool, any, list(…), set(…), map(…), tuple([…]) and object({…}).`,
      e.range,
    );
  }
  if (e.kind !== "call") throw new Refused("A type is expected, such as string or list(string).", startRange(e));
  const argument = e.arguments[0];
  if (argument === undefined || e.arguments.length !== 1)
    throw new Refused(`${e.name} takes one argument.`, startRange(e));
  if (e.name === "list" || e.name === "set" || e.name === "map")
    return { kind: e.name, element: decode(argument, evaluate) };
  if (e.name === "tuple" && argument.kind === "tuple")
    return { kind: "tuple", elements: argument.items.map((x) => decode(x, evaluate)) };
  if (e.name === "object" && argument.kind === "object")
    return { kind: "object", attributes: attributesOf(argument, evaluate) };
  if (e.name === "tuple" || e.name === "object") {
    throw new Refused(
      e.name === "tuple" ? "tuple takes a list of types in brackets." : "object takes names and types in braces.",
      startRange(argument),
    );
  }
  throw new Refused(`${JSON.stringify(e.name)} is no type.`, e.nameRange);
};

const attributesOf = (e: Expression & { kind: "object" }, evaluate: Evaluate): Map<string, ObjectAttributeType> => {
  const out = new Map<string, ObjectAttributeType>();
  for (const item of e.items) {
    const written = item.key.kind === "objectKey" ? item.key.wrapped : item.key;
    const name = keyword(written) ?? staticString(written);
    if (name === undefined) throw new Refused(`${sourceText(item.key.range)} is no attribute name.`, item.key.range);
    out.set(name, attributeOf(item.value, evaluate));
  }
  return out;
};

const attributeOf = (e: Expression, evaluate: Evaluate): ObjectAttributeType => {
  if (e.kind !== "call" || e.name !== "optional") return { type: decode(e, evaluate), optional: false };
  const [first, second] = e.arguments;
  if (first === undefined || e.arguments.length > 2)
    throw new Refused("optional takes a type and perhaps a default.", startRange(e));
  const type = decode(first, evaluate);
  if (second === undefined) return { type, optional: true };
  const value = evaluate(second);
  const converted = value === undefined ? undefined : convertValue(value, type);
  if (!converted?.ok) throw new Refused("The default does not fit the type.", startRange(second));
  return { type, optional: true, default: converted.value };
};
