import type { Attribute, Block, Diagnostic, EvalContext, Value } from "@outrider/hcl";
import type { JobDiagnostic } from "./diagnostics.ts";
import type { FileEvaluator } from "./evaluator.ts";

/** Asked after an evaluation: the cycle that it closed, and whether the value is part of a known one. */
type CycleOf = () => { readonly cycle: readonly string[] | undefined; readonly member: boolean };
type EvaluateLocal = (attribute: Attribute, cycleOf: CycleOf) => Value | undefined;

/**
 * The object behind `local`: each value is evaluated when it is first asked for. A value that is asked for while it is
 * being evaluated closes a cycle; it is missing then, and so are all values that need it.
 */
export class LazyLocals extends Map<string, Value> {
  readonly #pending = new Map<string, Attribute>();
  readonly #running = new Set<string>();
  readonly #evaluate: EvaluateLocal;
  /** The names of a cycle, from the one that closes it; set while the value that asks is evaluated. */
  #cycle: readonly string[] | undefined;
  readonly #cyclic = new Set<string>();

  constructor(attributes: Iterable<Attribute>, evaluate: EvaluateLocal) {
    super();
    this.#evaluate = evaluate;
    for (const attribute of attributes) this.#pending.set(attribute.name, attribute);
  }

  #resolve(name: string): void {
    this.#evaluateFirst(name);
    // What needs a part of a cycle cannot have a value either.
    const asking = [...this.#running].at(-1);
    if (asking !== undefined && this.#cyclic.has(name) && !super.has(name)) this.#cyclic.add(asking);
  }

  #evaluateFirst(name: string): void {
    const attribute = this.#pending.get(name);
    if (attribute === undefined) return;
    if (this.#running.has(name)) {
      const running = [...this.#running];
      this.#cycle ??= running.slice(running.indexOf(name));
      for (const member of this.#cycle) this.#cyclic.add(member);
      return;
    }
    this.#running.add(name);
    const value = this.#evaluate(attribute, () => {
      const cycle = this.#cycle;
      this.#cycle = undefined;
      return { cycle, member: this.#cyclic.has(name) };
    });
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
  diagnostics: Array<JobDiagnostic | Diagnostic>,
): { context: EvalContext; locals: LazyLocals } {
  // The last of two locals of one name wins, as in Nomad.
  const lazy: LazyLocals = new LazyLocals(
    locals.flatMap((block) => block.body.attributes),
    (attribute, cycleOf) => {
      const { value, diagnostics: found } = evaluator.evaluate(attribute.expression, context);
      diagnostics.push(...withoutCycle(found, cycleOf()));
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

/** A cycle is told once, where it closes, by its names; what else misses a value follows from it. */
function withoutCycle(
  found: readonly Diagnostic[],
  { cycle, member }: ReturnType<CycleOf>,
): Array<JobDiagnostic | Diagnostic> {
  const missing = (d: Diagnostic): boolean => d.code === "unknown-attribute" || d.code === "invalid-index";
  const closing = found.find(missing);
  if (!member || closing === undefined) return [...found];
  const rest = found.filter((d) => !missing(d));
  if (cycle === undefined) return rest;
  const names = [...cycle, cycle[0]].map((name) => `local.${name}`);
  return [
    ...rest,
    {
      ...closing,
      code: "cyclic-local",
      summary: "Locals that need each other",
      detail: `The value is needed for itself: ${names.join(" needs ")}.`,
    },
  ];
}
