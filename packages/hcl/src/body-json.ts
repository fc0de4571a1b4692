import type { Body } from "./ast.ts";
import type { Expression, TemplateExpression } from "./expressions.ts";
import { HclNumber } from "./number.ts";
import { keyword } from "./ranges.ts";
import { sourceText } from "./source.ts";

/**
 * Plain data of JSON; objects have no prototype.
 * @public
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

type JsonObject = { [key: string]: Json };
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const escape = (text: string): string => text.replaceAll("${", () => "$${").replaceAll("%{", "%%{");

const templateText = (t: TemplateExpression): string =>
  t.parts
    .map((part): string => {
      if (part.kind === "literal") return escape(String(part.value));
      if (part.kind === "templateIf") {
        const otherwise = part.ifFalse === undefined ? "" : `%{else}${templateText(part.ifFalse)}`;
        return `%{if ${sourceText(part.condition.range)}}${templateText(part.ifTrue)}${otherwise}%{endif}`;
      }
      if (part.kind === "templateFor") {
        const names = part.keyName === undefined ? part.valueName : `${part.keyName}, ${part.valueName}`;
        return `%{for ${names} in ${sourceText(part.collection.range)}}${templateText(part.body)}%{endfor}`;
      }
      // Quoted templates inside of an interpolation are written without their quotes.
      const inner = toJson(part);
      return typeof inner === "string" && part.kind === "template" ? inner : `\${${sourceText(part.range)}}`;
    })
    .join("");

const keyText = (e: Expression): string => {
  const written = e.kind === "objectKey" ? e.wrapped : e;
  const word = keyword(written);
  if (word !== undefined) return word;
  if (written.kind === "traversal") return sourceText(written.range);
  const value = toJson(written);
  return typeof value === "string" ? value : JSON.stringify(value);
};

const toJson = (e: Expression): Json => {
  switch (e.kind) {
    case "literal":
      return e.value instanceof HclNumber ? e.value.toNumber() : e.value;
    case "template":
      return templateText(e);
    case "templateWrap":
      return templateText({ kind: "template", form: "quoted", parts: [e.wrapped], range: e.range });
    case "tuple":
      return e.items.map(toJson);
    case "object": {
      const out = Object.create(null) as JsonObject;
      for (const item of e.items) out[keyText(item.key)] = toJson(item.value);
      return out;
    }
    case "unary":
      // The one operator that is evaluated: the sign of a number.
      if (e.operator === "-" && e.operand.kind === "literal" && typeof e.operand.value === "number")
        return -e.operand.value;
      return `\${${sourceText(e.range)}}`;
    default:
      return `\${${sourceText(e.range)}}`;
  }
};

/**
 * A body in the form of hcl2json: blocks become arrays below their type and labels, literals their values (numbers as doubles),
 * and every other expression its source text as `"${…}"`. For programs that expect that form; positions, comments and the
 * order among blocks of different types are lost, so walk `body` where you can. Of two things of one name the last remains.
 * @public
 */
export const bodyToJson = (body: Body): { [key: string]: Json } => {
  const out = Object.create(null) as JsonObject;
  for (const block of body.blocks) {
    let at = out;
    let name = block.type;
    for (const label of block.labels) {
      const inner = at[name];
      at = isObject(inner) ? inner : (at[name] = Object.create(null) as JsonObject);
      name = label.value;
    }
    const list = at[name];
    if (Array.isArray(list)) list.push(bodyToJson(block.body));
    else at[name] = [bodyToJson(block.body)];
  }
  for (const a of body.attributes) out[a.name] = toJson(a.expression);
  return out;
};
