import type { Range } from "./diagnostic.ts";
import type { HclNumber } from "./number.ts";
import type { Scalar } from "./value.ts";

/**
 * Any expression, told apart by `kind`.
 * @public
 */
export type Expression =
  | LiteralExpression
  | TemplateExpression
  | TemplateWrapExpression
  | TemplateIfExpression
  | TemplateForExpression
  | ConditionalExpression
  | BinaryExpression
  | UnaryExpression
  | CallExpression
  | TraversalExpression
  | RelativeTraversalExpression
  | IndexExpression
  | SplatExpression
  | SplatItemExpression
  | ForExpression
  | TupleExpression
  | ObjectExpression
  | ObjectKeyExpression
  | ParensExpression;

/**
 * A number, `true`, `false`, `null`, or the text between the sequences of a template. Numbers that a JavaScript
 * number cannot hold without loss are {@link HclNumber}s.
 * @public
 */
export interface LiteralExpression {
  readonly kind: "literal";
  readonly value: Scalar;
  readonly range: Range;
}

/**
 * A quoted string or heredoc made of parts that are joined into one string.
 * @public
 */
export interface TemplateExpression {
  readonly kind: "template";
  readonly parts: readonly Expression[];
  /** How it was written: `"…"`, `<<EOF` or `<<-EOF`; "directive" is the inside of a `%{…}` directive or a bare template. */
  readonly form: "quoted" | "heredoc" | "flush-heredoc" | "directive";
  readonly range: Range;
}

/**
 * A quoted string that is one interpolation only, `"${x}"`: the value keeps its type.
 * @public
 */
export interface TemplateWrapExpression {
  readonly kind: "templateWrap";
  readonly wrapped: Expression;
  readonly range: Range;
}

/**
 * `%{if c}…%{else}…%{endif}` in a template.
 * @public
 */
export interface TemplateIfExpression {
  readonly kind: "templateIf";
  readonly condition: Expression;
  readonly ifTrue: TemplateExpression;
  readonly ifFalse: TemplateExpression | undefined;
  readonly range: Range;
}

/**
 * `%{for k, v in c}…%{endfor}` in a template.
 * @public
 */
export interface TemplateForExpression {
  readonly kind: "templateFor";
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
  readonly body: TemplateExpression;
  readonly range: Range;
}

/**
 * `condition ? ifTrue : ifFalse`.
 * @public
 */
export interface ConditionalExpression {
  readonly kind: "conditional";
  readonly condition: Expression;
  readonly ifTrue: Expression;
  readonly ifFalse: Expression;
  readonly range: Range;
}

/**
 * The binary operators.
 * @public
 */
export type BinaryOperator = "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" | "%";

/**
 * `left operator right`.
 * @public
 */
export interface BinaryExpression {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly range: Range;
}

/**
 * `-operand` or `!operand`.
 * @public
 */
export interface UnaryExpression {
  readonly kind: "unary";
  readonly operator: "-" | "!";
  readonly operand: Expression;
  readonly operatorRange: Range;
  readonly range: Range;
}

/**
 * `name(arguments…)`; `expandFinal` when the last argument is followed by `...`.
 * @public
 */
export interface CallExpression {
  readonly kind: "call";
  readonly name: string;
  readonly nameRange: Range;
  readonly arguments: readonly Expression[];
  readonly expandFinal: boolean;
  readonly openParenRange: Range;
  readonly closeParenRange: Range;
  readonly range: Range;
}

/**
 * One step of a traversal: `.name`, `["key"]`, `[0]` or the legacy `.0`.
 * @public
 */
export type TraversalStep =
  | { readonly kind: "attribute"; readonly name: string; readonly range: Range }
  | { readonly kind: "index"; readonly key: string | number | HclNumber; readonly range: Range };

/**
 * A variable with its static steps, `attr.kernel.name` or `env["HOME"]`.
 * @public
 */
export interface TraversalExpression {
  readonly kind: "traversal";
  readonly root: string;
  readonly rootRange: Range;
  readonly steps: readonly TraversalStep[];
  readonly range: Range;
}

/**
 * Static steps behind any other expression, `f(x).name[0]`.
 * @public
 */
export interface RelativeTraversalExpression {
  readonly kind: "relativeTraversal";
  readonly source: Expression;
  readonly steps: readonly TraversalStep[];
  readonly range: Range;
}

/**
 * `collection[key]` with a computed key.
 * @public
 */
export interface IndexExpression {
  readonly kind: "index";
  readonly collection: Expression;
  readonly key: Expression;
  readonly openRange: Range;
  readonly range: Range;
}

/**
 * `source.*.each` (form "attribute") or `source[*].each` (form "full").
 * @public
 */
export interface SplatExpression {
  readonly kind: "splat";
  readonly form: "attribute" | "full";
  readonly source: Expression;
  /** Evaluated for each item; contains one {@link SplatItemExpression} of the same `id` at its root. */
  readonly each: Expression;
  readonly item: SplatItemExpression;
  readonly markerRange: Range;
  readonly range: Range;
}

/**
 * Stands for the current item inside {@link SplatExpression.each}.
 * @public
 */
export interface SplatItemExpression {
  readonly kind: "splatItem";
  readonly range: Range;
}

/**
 * `[for k, v in c : value if cond]` or `{for k, v in c : key => value... if cond}`.
 * @public
 */
export interface ForExpression {
  readonly kind: "for";
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
  /** Only in the object form. */
  readonly key: Expression | undefined;
  readonly value: Expression;
  readonly condition: Expression | undefined;
  /** `...` behind the value: the values of equal keys are collected in a list. */
  readonly grouping: boolean;
  readonly range: Range;
}

/**
 * `[items…]`.
 * @public
 */
export interface TupleExpression {
  readonly kind: "tuple";
  readonly items: readonly Expression[];
  readonly range: Range;
}

/**
 * `{ key = value … }`.
 * @public
 */
export interface ObjectExpression {
  readonly kind: "object";
  readonly items: readonly ObjectItem[];
  readonly range: Range;
}

/**
 * One item of an object. A bare word key is an {@link ObjectKeyExpression}.
 * @public
 */
export interface ObjectItem {
  readonly key: Expression;
  readonly value: Expression;
}

/**
 * The key position of an object item: `wrapped` is what was written. A single bare word is its own name, not a variable;
 * `(name)` is the variable's value.
 * @public
 */
export interface ObjectKeyExpression {
  readonly kind: "objectKey";
  readonly wrapped: Expression;
  readonly range: Range;
}

/**
 * `(inner)`.
 * @public
 */
export interface ParensExpression {
  readonly kind: "parens";
  readonly inner: Expression;
  readonly range: Range;
}
