import {
  callFunction,
  shown,
  truthy,
  variableField,
  type TemplateData,
  type TemplateValue,
} from "./template-functions.ts";
import { TemplateError, type Operand, type Pipe, type TemplateNode } from "./template-tree.ts";

const MAX_OUTPUT = 16 * 2 ** 20;
const MAX_STEPS = 250_000;

/** Names with their values, the inner ones first. */
interface Scope {
  readonly values: Map<string, TemplateValue>;
  readonly outer: Scope | undefined;
}

class Renderer {
  readonly #data: TemplateData;
  readonly #strict: boolean;
  readonly #out: string[] = [];
  #size = 0;
  #steps = 0;

  constructor(data: TemplateData, strict: boolean) {
    this.#data = data;
    this.#strict = strict;
  }

  get text(): string {
    return this.#out.join("");
  }

  run(nodes: readonly TemplateNode[], dot: TemplateValue, scope: Scope): void {
    for (const node of nodes) {
      try {
        this.#spend(1);
        if (node.kind === "text") this.#write(node.text);
        else if (node.kind === "action") this.#action(node, dot, scope);
        else if (node.kind === "range") this.#range(node, dot, scope);
        else this.#choose(node, dot, scope);
      } catch (cause) {
        if (cause instanceof TemplateError && cause.line === 0 && node.kind !== "text")
          throw new TemplateError(cause.detail, node.line);
        throw cause;
      }
    }
  }

  /** Bounds the work: rendering is done in one go, and nothing else of the agent runs meanwhile. */
  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TemplateError(`takes more than ${MAX_STEPS} steps`, 0);
  }

  #choose(node: Extract<TemplateNode, { kind: "if" | "with" }>, dot: TemplateValue, scope: Scope): void {
    const value = this.#pipe(node.pipe, dot, scope);
    const inner = child(scope);
    if (node.set !== undefined) inner.values.set(node.set, value);
    if (truthy(value)) this.run(node.body, node.kind === "with" ? value : dot, inner);
    else this.run(node.otherwise, dot, inner);
  }

  #write(text: string): void {
    this.#size += text.length;
    if (this.#size > MAX_OUTPUT) throw new TemplateError(`output is larger than ${MAX_OUTPUT} characters`, 0);
    this.#out.push(text);
  }

  #action(node: Extract<TemplateNode, { kind: "action" }>, dot: TemplateValue, scope: Scope): void {
    const value = this.#pipe(node.pipe, dot, scope);
    if (node.set === undefined) return this.#write(shown(value));
    if (node.declare) scope.values.set(node.set, value);
    else {
      let at: Scope | undefined = scope;
      while (at !== undefined && !at.values.has(node.set)) at = at.outer;
      if (at === undefined) throw new TemplateError(`variable ${node.set} is not declared`, 0);
      at.values.set(node.set, value);
    }
  }

  #range(node: Extract<TemplateNode, { kind: "range" }>, dot: TemplateValue, scope: Scope): void {
    const value = this.#pipe(node.pipe, dot, scope);
    const entries: [TemplateValue, TemplateValue][] = Array.isArray(value)
      ? (value as readonly TemplateValue[]).map((v, i) => [i, v])
      : value !== null && typeof value === "object"
        ? Object.entries(value as Record<string, TemplateValue>).sort(([a], [b]) => (a < b ? -1 : 1))
        : [];
    if (value !== null && typeof value !== "object") throw new TemplateError(`range cannot go over ${shown(value)}`, 0);
    if (entries.length === 0) return this.run(node.otherwise, dot, child(scope));
    for (const [key, item] of entries) {
      this.#spend(1);
      const inner = child(scope);
      if (node.key !== undefined) inner.values.set(node.key, key);
      if (node.value !== undefined) inner.values.set(node.value, item);
      this.run(node.body, item, inner);
    }
  }

  #pipe(pipe: Pipe, dot: TemplateValue, scope: Scope): TemplateValue {
    let value: TemplateValue = null;
    for (const [i, command] of pipe.entries()) {
      const last = i === 0 ? [] : [value];
      if (command.name === undefined) {
        if (i > 0) throw new TemplateError("a value cannot take the result of a pipe", 0);
        value = this.#operand(command.args[0] as Operand, dot, scope);
      } else if (command.name === "and" || command.name === "or") {
        value = this.#shortCircuit(command.name, command.args, last, dot, scope);
      } else {
        value = this.#call(command.name, [
          ...command.args.map((operand) => this.#operand(operand, dot, scope)),
          ...last,
        ]);
      }
    }
    return value;
  }

  /** Stops at the first argument that decides, as Go does: later ones may not be meant to be looked at. */
  #shortCircuit(
    name: "and" | "or",
    args: readonly Operand[],
    last: readonly TemplateValue[],
    dot: TemplateValue,
    scope: Scope,
  ): TemplateValue {
    if (args.length + last.length === 0) throw new TemplateError(`${name}: expected at least 1 argument, got 0`, 0);
    let value: TemplateValue = null;
    for (const operand of args) {
      value = this.#operand(operand, dot, scope);
      if (truthy(value) === (name === "or")) return value;
    }
    return last.length === 0 ? value : (last[0] as TemplateValue);
  }

  #call(name: string, args: readonly TemplateValue[]): TemplateValue {
    this.#spend(
      args.reduce<number>(
        (sum, a) => sum + (typeof a === "string" ? a.length / 256 : Array.isArray(a) ? a.length : 1),
        1,
      ),
    );
    try {
      return callFunction(name, this.#data, args);
    } catch (cause) {
      throw new TemplateError((cause as Error).message, 0);
    }
  }

  #operand(operand: Operand, dot: TemplateValue, scope: Scope): TemplateValue {
    if (operand.kind === "literal") return operand.value;
    if (operand.kind === "pipe") return this.#path(this.#pipe(operand.pipe, dot, scope), operand.path);
    if (operand.from === ".") return this.#path(dot, operand.path);
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
      if (at.values.has(operand.from)) return this.#path(at.values.get(operand.from) as TemplateValue, operand.path);
    }
    throw new TemplateError(`variable ${operand.from} is not declared`, 0);
  }

  #path(value: TemplateValue, path: readonly string[]): TemplateValue {
    let at = value;
    for (const name of path) {
      if (at !== null && (typeof at !== "object" || Array.isArray(at)))
        throw new TemplateError(`can't evaluate field ${name} in ${JSON.stringify(shown(at).slice(0, 40))}`, 0);
      const map = at as Record<string, TemplateValue> | null;
      const found = map === null ? undefined : Object.hasOwn(map, name) ? map[name] : variableField(map, name);
      if (found === undefined && this.#strict)
        throw new TemplateError(`map has no entry for key ${JSON.stringify(name)}`, 0);
      at = found ?? null;
    }
    return at;
  }
}

const child = (outer: Scope): Scope => ({ values: new Map(), outer });

/** Renders a tree. `strict` makes an unknown key an error. Bounded in steps and output. Throws TemplateError. */
export function renderTemplate(
  tree: readonly TemplateNode[],
  data: TemplateData,
  o: { readonly strict: boolean },
): string {
  const renderer = new Renderer(data, o.strict);
  renderer.run(tree, null, { values: new Map([["$", null]]), outer: undefined });
  return renderer.text;
}
