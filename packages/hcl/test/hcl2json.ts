import type { Body, Expression, TemplateExpression } from "../src/index.ts";
import { HclNumber, keyword, sourceText } from "../src/index.ts";

/** JSON as the oracle writes it: expressions become their source text, blocks arrays under their labels. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

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
      const out = Object.create(null) as { [key: string]: Json };
      for (const item of e.items) out[keyText(item.key)] = toJson(item.value);
      return out;
    }
    case "unary":
      // The oracle evaluates the sign of a number.
      if (e.operator === "-" && e.operand.kind === "literal" && typeof e.operand.value === "number")
        return -e.operand.value;
      return `\${${sourceText(e.range)}}`;
    default:
      return `\${${sourceText(e.range)}}`;
  }
};

/** The whole body in the oracle's form. */
export const bodyToJson = (body: Body): Json => {
  const out = Object.create(null) as { [key: string]: Json };
  for (const block of body.blocks) {
    let at = out;
    let name = block.type;
    for (const label of block.labels) {
      at = (at[name] ??= Object.create(null) as { [key: string]: Json }) as { [key: string]: Json };
      name = label.value;
    }
    ((at[name] ??= []) as Json[]).push(bodyToJson(block.body));
  }
  for (const a of body.attributes) out[a.name] = toJson(a.expression);
  return out;
};
