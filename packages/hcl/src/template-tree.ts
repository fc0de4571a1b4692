import type { Expression, TemplateExpression, TemplateForExpression, TemplateIfExpression } from "./expressions.ts";
import type { ParserState } from "./parser-state.ts";
import type { SourceRange } from "./source.ts";
import type { Part } from "./template-parts.ts";

type Form = TemplateExpression["form"];

/** Pairs up the directives of a template. */
export const buildTemplate = (
  p: ParserState,
  parts: readonly Part[],
  end: SourceRange,
  form: Form,
): TemplateExpression => {
  const builder = new Builder(p, parts, end);
  return builder.template(form, undefined);
};

class Builder {
  readonly #p: ParserState;
  readonly #parts: readonly Part[];
  readonly #end: SourceRange;
  #at = 0;

  constructor(p: ParserState, parts: readonly Part[], end: SourceRange) {
    this.#p = p;
    this.#parts = parts;
    this.#end = end;
  }

  /** Parts up to a directive that ends `opener`, which is not consumed, or to the end. */
  template(form: Form, opener: Part | undefined): TemplateExpression {
    const p = this.#p;
    const out: Expression[] = [];
    const from = this.#parts[this.#at]?.from ?? this.#end.from;
    for (;;) {
      const part = this.#parts[this.#at];
      if (part === undefined) {
        if (opener === undefined) break;
        return p.fail(
          "invalid-directive",
          "Directive not ended",
          `The "${opener.kind}" directive has no "end${opener.kind}".`,
          this.#end,
          p.between(opener.from, opener.to),
        );
      }
      if (part.kind === "text") {
        this.#at++;
        if (part.text !== "") out.push({ kind: "literal", value: part.text, range: p.between(part.from, part.to) });
      } else if (part.kind === "value") {
        this.#at++;
        out.push(part.expression);
      } else if (part.kind === "if") out.push(this.#if(part));
      else if (part.kind === "for") out.push(this.#for(part));
      else {
        const ends =
          part.kind === "else"
            ? opener?.kind === "if"
            : opener !== undefined && part.kind === `end${opener.kind === "else" ? "if" : opener.kind}`;
        if (ends) break;
        p.fail(
          "invalid-directive",
          "Unexpected directive",
          `Nothing open here is ended by "${part.kind}".`,
          p.between(part.from, part.to),
        );
      }
    }
    const to = this.#parts[this.#at - 1]?.to ?? from;
    if (out.length === 0) out.push({ kind: "literal", value: "", range: p.between(from, Math.max(from, to)) });
    return { kind: "template", form, parts: out, range: p.between(from, Math.max(from, to)) };
  }

  #if(opener: Part & { kind: "if" }): TemplateIfExpression {
    const p = this.#p;
    p.enter();
    this.#at++;
    const ifTrue = this.template("directive", opener);
    let ifFalse: TemplateExpression | undefined;
    let ending = this.#parts[this.#at++] as Part;
    if (ending.kind === "else") {
      ifFalse = this.template("directive", ending);
      ending = this.#parts[this.#at++] as Part;
    }
    p.depth--;
    return {
      kind: "templateIf",
      condition: opener.condition,
      ifTrue,
      ifFalse,
      range: p.between(opener.from, ending.to),
    };
  }

  #for(opener: Part & { kind: "for" }): TemplateForExpression {
    const p = this.#p;
    p.enter();
    this.#at++;
    const body = this.template("directive", opener);
    const ending = this.#parts[this.#at++] as Part;
    p.depth--;
    return {
      kind: "templateFor",
      keyName: opener.keyName,
      valueName: opener.valueName,
      collection: opener.collection,
      body,
      range: p.between(opener.from, ending.to),
    };
  }
}
