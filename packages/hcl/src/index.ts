export { parse, parseExpression, parseTemplate, DEFAULT_MAX_BYTES } from "./parse.ts";
export { sourceText } from "./source.ts";
export { HclNumber } from "./number.ts";
