import {
  convertValue,
  decodeType,
  parse,
  parseExpression,
  startRange,
  valueFromJs,
  type Block,
  type Diagnostic,
  type EvalContext,
  type Expression,
  type HclType,
  type Range,
  type Value,
} from "@outrider/hcl";
import type { JobDiagnostic, JobspecCode } from "./diagnostics.ts";
import type { FileEvaluator } from "./evaluator.ts";
import { didYouMean } from "./suggest.ts";

const ATTRIBUTES = ["type", "default", "description", "sensitive", "nullable"];

interface Validation {
  readonly condition: Expression;
  readonly message: Expression | undefined;
  readonly range: Range;
}

interface Declaration {
  readonly name: string;
  readonly type: HclType | undefined;
  readonly validations: readonly Validation[];
  value: Value | undefined;
  /** Where the value was given, for faults of validations. */
  where: Range | undefined;
}

/** Declared variables and the values they get. */
export class JobVariables {
  readonly #declared = new Map<string, Declaration>();
  readonly #evaluator: FileEvaluator;
  readonly #functions: EvalContext;
  readonly diagnostics: (JobDiagnostic | Diagnostic)[] = [];

  /** `functions` is the context of defaults and values: functions only. */
  constructor(evaluator: FileEvaluator, functions: EvalContext) {
    this.#evaluator = evaluator;
    this.#functions = { ...functions, unknownTraversal: "error" };
  }

  #report(code: JobspecCode, summary: string, detail: string, subject?: Range): void {
    this.diagnostics.push({ severity: "error", code, summary, detail, ...(subject === undefined ? {} : { subject }) });
  }

  #evaluate(expression: Expression, context: EvalContext = this.#functions): Value | undefined {
    const { value, diagnostics } = this.#evaluator.evaluate(expression, context);
    this.diagnostics.push(...diagnostics);
    return value;
  }

  /** A `variable "name" {}` block. */
  declare(block: Block): void {
    const label = block.labels[0];
    if (label === undefined) {
      this.#report(
        "missing-label",
        "Label missing",
        'A "variable" block needs a label: its name.',
        block.openBraceRange,
      );
      return;
    }
    const extra = block.labels[1];
    if (extra !== undefined) {
      return this.#report("extra-label", "Label too many", 'A "variable" block takes one label.', extra.range);
    }
    if (this.#declared.has(label.value)) {
      const detail = `The variable "${label.value}" is declared already.`;
      return this.#report("duplicate-variable", "Variable declared twice", detail, block.definitionRange);
    }
    for (const attribute of block.body.attributes) {
      if (ATTRIBUTES.includes(attribute.name)) continue;
      const detail = `A variable has no argument "${attribute.name}".${didYouMean(attribute.name, ATTRIBUTES)}`;
      this.#report("unsupported-argument", "Unknown argument", detail, attribute.nameRange);
    }
    const declaration: Declaration = {
      name: label.value,
      type: this.#type(block),
      validations: this.#validations(block),
      value: undefined,
      where: undefined,
    };
    this.#declared.set(label.value, declaration);
    const given = block.body.attribute("default");
    if (given === undefined) return;
    const value = this.#evaluate(given.expression);
    if (value !== undefined) this.#set(declaration, value, "its default", startRange(given.expression));
  }

  #type(block: Block): HclType | undefined {
    const attribute = block.body.attribute("type");
    if (attribute === undefined) return undefined;
    const { type, diagnostics } = decodeType(attribute.expression);
    this.diagnostics.push(...diagnostics);
    return type;
  }

  #validations(block: Block): Validation[] {
    const out: Validation[] = [];
    for (const inner of block.body.blocks) {
      if (inner.type !== "validation") {
        const detail = `A variable has no "${inner.type}" block.${didYouMean(inner.type, ["validation"])}`;
        this.#report("unsupported-block", "Unknown block", detail, inner.typeRange);
        continue;
      }
      const condition = inner.body.attribute("condition");
      if (condition === undefined) {
        this.#report("invalid-variable", "Argument missing", "A validation needs a condition.", inner.openBraceRange);
        continue;
      }
      const message = inner.body.attribute("error_message")?.expression;
      out.push({ condition: condition.expression, message, range: inner.definitionRange });
    }
    return out;
  }

  #set(declaration: Declaration, value: Value, from: string, where: Range | undefined): void {
    if (declaration.type === undefined) {
      declaration.value = value;
    } else {
      const converted = convertValue(value, declaration.type);
      if (!converted.ok) {
        const path = converted.path === "" ? "" : `${converted.path}: `;
        const detail = `The value of the variable "${declaration.name}" (${from}) does not fit its type: ${path}${converted.message}.`;
        this.#report("invalid-variable-value", "Value does not fit", detail, where);
        return;
      }
      declaration.value = converted.value;
    }
    declaration.where = where;
  }

  #unknown(name: string, from: string, severity: "error" | "warning", subject?: Range): void {
    const detail = `"${name}" was given ${from}, but the job file declares no such variable.${didYouMean(name, this.#declared.keys())}`;
    this.diagnostics.push({
      severity,
      code: "undeclared-variable",
      summary: "Undeclared variable",
      detail,
      ...(subject === undefined ? {} : { subject }),
    });
  }

  /** A value given as text, by `-var` or the environment. Text types take it as it is, others as an expression. */
  setText(name: string, text: string, from: string, undeclared: "error" | "warning" | "ignore"): void {
    const declaration = this.#declared.get(name);
    if (declaration === undefined) {
      if (undeclared !== "ignore") this.#unknown(name, from, undeclared);
      return;
    }
    const type = declaration.type;
    if (type === undefined || type.kind === "string" || type.kind === "number" || type.kind === "bool") {
      // A number or bool is converted from its text, so that "abc" is told apart from a reference.
      this.#set(declaration, text, from, undefined);
      return;
    }
    const { expression, diagnostics } = parseExpression(text, { filename: `<value for var.${name}>` });
    this.diagnostics.push(...diagnostics);
    if (expression === undefined || diagnostics.some((d) => d.severity === "error")) return;
    const value = this.#evaluate(expression);
    if (value !== undefined) this.#set(declaration, value, from, undefined);
  }

  /** The values of a variable file: `name = value` lines, or a JSON object. */
  setFile(text: Uint8Array, filename: string, strict: boolean): void {
    const severity = strict ? "error" : "warning";
    if (filename.endsWith(".json")) return this.#setJson(text, filename, severity);
    const { body, diagnostics } = parse(text, { filename });
    this.diagnostics.push(...diagnostics);
    for (const block of body.blocks) {
      this.#report("unsupported-block", "Unknown block", "A variable file holds values only.", block.typeRange);
    }
    for (const attribute of body.attributes) {
      const declaration = this.#declared.get(attribute.name);
      if (declaration === undefined) {
        this.#unknown(attribute.name, `in ${filename}`, severity, attribute.nameRange);
        continue;
      }
      const value = this.#evaluate(attribute.expression);
      if (value !== undefined) this.#set(declaration, value, `in ${filename}`, startRange(attribute.expression));
    }
  }

  #setJson(text: Uint8Array, filename: string, severity: "error" | "warning"): void {
    let values: unknown;
    try {
      values = JSON.parse(new TextDecoder().decode(text));
    } catch (error) {
      const why = (error as Error).message.split("\n")[0];
      return this.#report("json-syntax", "Not JSON", `The variable file ${filename} cannot be read: ${why}.`);
    }
    if (typeof values !== "object" || values === null || Array.isArray(values)) {
      return this.#report("json-syntax", "No object", `The variable file ${filename} must hold one object.`);
    }
    for (const [name, value] of Object.entries(values)) {
      const declaration = this.#declared.get(name);
      if (declaration === undefined) this.#unknown(name, `in ${filename}`, severity);
      else this.#set(declaration, valueFromJs(value), `in ${filename}`, undefined);
    }
  }

  /** All values; reports variables without one and values that a validation refuses. */
  finish(): ReadonlyMap<string, Value> {
    const values = new Map<string, Value>();
    const refused = this.diagnostics.some(
      (d) => "severity" in d && d.severity === "error" && d.code === "invalid-variable-value",
    );
    for (const d of this.#declared.values()) {
      if (d.value !== undefined) values.set(d.name, d.value);
      else if (!refused) {
        const detail = `The variable "${d.name}" has neither a value nor a default. Give it by -var, -var-file or NOMAD_VAR_${d.name}.`;
        this.#report("unset-variable", "Variable without a value", detail);
      }
    }
    for (const d of this.#declared.values()) if (d.value !== undefined) this.#validate(d, values);
    return values;
  }

  #validate(d: Declaration, values: ReadonlyMap<string, Value>): void {
    const context: EvalContext = { parent: this.#functions, variables: new Map([["var", values as Value]]) };
    for (const validation of d.validations) {
      const verdict = this.#evaluate(validation.condition, context);
      if (verdict === undefined || verdict === true) continue;
      const given = validation.message === undefined ? undefined : this.#evaluate(validation.message, context);
      const line = validation.range.start.line;
      const message = typeof given === "string" ? given : "The value is not allowed.";
      const detail = `${message} (variable "${d.name}", validation on line ${line})`;
      this.#report("validation-failed", "Value refused", detail, d.where);
    }
  }
}
