export { DEFAULT_MAX_BYTES, parse, parseExpression, parseTemplate } from "./parse.ts";
export type { ParseExpressionResult, ParseOptions } from "./parse.ts";
export { DEFAULT_MAX_DEPTH } from "./parser-state.ts";
export type { Attribute, Block, BlockLabel, Body, Comment, ParseResult } from "./ast.ts";
export type {
  BinaryExpression,
  BinaryOperator,
  CallExpression,
  ConditionalExpression,
  Expression,
  ForExpression,
  IndexExpression,
  LiteralExpression,
  ObjectExpression,
  ObjectItem,
  ObjectKeyExpression,
  ParensExpression,
  RelativeTraversalExpression,
  SplatExpression,
  SplatItemExpression,
  TemplateExpression,
  TemplateForExpression,
  TemplateIfExpression,
  TemplateWrapExpression,
  TraversalExpression,
  TraversalStep,
  TupleExpression,
  UnaryExpression,
} from "./expressions.ts";
export type { Diagnostic, DiagnosticCode, Pos, Range } from "./diagnostic.ts";
export { bodyToJson } from "./body-json.ts";
export type { Json } from "./body-json.ts";
export { evaluate } from "./evaluate.ts";
export { DEFAULT_EVAL_LIMITS } from "./eval-state.ts";
export { FunctionError } from "./eval-types.ts";
export type {
  CallContext,
  EvalContext,
  EvalLimits,
  EvalResult,
  Functions,
  HclFunction,
  ParamSpec,
  Variables,
} from "./eval-types.ts";
export { createStdlib, extraFunctions, stdlib } from "./functions/stdlib.ts";
export type { StdlibOptions } from "./functions/stdlib.ts";
export { DEFAULT_MAX_BLOCKS, expandDynamicBlocks } from "./dynamic.ts";
export type { ExpandedBlock, ExpandedBody, ExpandOptions, ExpandResult } from "./dynamic.ts";
export { decodeType } from "./decode-type.ts";
export type { DecodeTypeResult } from "./type-expression.ts";
export { typeText } from "./types.ts";
export type { HclType, ObjectAttributeType } from "./types.ts";
export { convertValue, typeName } from "./convert.ts";
export type { ConvertResult } from "./convert.ts";
export { valuesEqual } from "./compare.ts";
export { valueFromJs, valueToJs } from "./value-js.ts";
export type { Scalar, Value, ValueMap } from "./value.ts";
export { HclNumber, numberText } from "./number.ts";
export { keyword, startRange, staticString, traversalText } from "./ranges.ts";
export { sourceText } from "./source.ts";
