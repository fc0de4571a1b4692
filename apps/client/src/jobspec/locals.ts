import type { Attribute, Block, Diagnostic, EvalContext, Value } from "@outrider/hcl";
import type { FileEvaluator } from "./evaluator.ts";

/**
 * The object behind `local`: each value is evaluated when it is first asked for. A value that is asked for while it is
 * being evaluated is a cycle; it is missing then, which the evaluator reports at the place that asks.
 */
export class LazyLocals extends Map<string, Value> {
  readonly #pending = new Map<string, Attribute>();
  readonly #running = new Set<string>();
  readonly #evaluate: (attribute: Attribute) => Value | undefined;

  constructor(attributes: Iterable<Attribute>, evaluate: (attribute: Attribute) => Value | undefined) {
    super();
    this.#evaluate = evaluate;
    for (const attribute of attributes) this.#pending.set(attribute.name, attribute);
  }

  #resolve(name: string): void {
    const attribute = this.#pending.get(name);
    if (attribute === undefined || this.#running.has(name)) return;
    this.#running.add(name);
    const value = this.#evaluate(attribute);
    this.#running.delete(name);
    this.#pending.delete(name);
    if (value !== undefined) super.set(name, value);
  }

  #resolveAll(): void {
    for (const name of this.#pending.keys()) this.#resolve(name);
  }

  override get(name: string): Value | undefined {
    this.#resolve(name);
    return super.get(name);
  }

  override has(name: string): boolean {
    this.#resolve(name);
    return super.has(name);
  }

  override get size(): number {
    this.#resolveAll();
    return super.size;
  }

  override keys(): MapIterator<string> {
    this.#resolveAll();
    return super.keys();
  }

  override values(): MapIterator<Value> {
    this.#resolveAll();
    return super.values();
  }

  override entries(): MapIterator<[string, Value]> {
    this.#resolveAll();
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  override forEach(fn: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this.entries()) fn(value, key, this);
  }

  /** Evaluates what nobody asked for yet, so that its faults are known. */
  finish(): void {
    this.#resolveAll();
  }
}

/** The context with `var` and `local`; faults of locals go to `diagnostics`, each once. */
export function jobContext(
  evaluator: FileEvaluator,
  functions: EvalContext,
  variables: ReadonlyMap<string, Value>,
  locals: readonly Block[],
  diagnostics: Diagnostic[],
): { context: EvalContext; locals: LazyLocals } {
  // The last of two locals of one name wins, as in Nomad.
  const lazy: LazyLocals = new LazyLocals(
    locals.flatMap((block) => block.body.attributes),
    (attribute) => {
      const { value, diagnostics: found } = evaluator.evaluate(attribute.expression, context);
      diagnostics.push(...found);
      return value;
    },
  );
  const context: EvalContext = {
    parent: functions,
    variables: new Map<string, Value>([
      ["var", variables as Value],
      ["local", lazy as Value],
    ]),
    unknownTraversal: "keep-text",
  };
  return { context, locals: lazy };
}
