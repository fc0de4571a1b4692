export { DisposeStack, type AnyDisposable } from "./dispose-stack.ts";
export { noopLogger, type LogFn, type Logger } from "./logger.ts";
export {
  isOutriderError,
  OutriderError,
  type BrandedError,
  type OutriderErrorOptions,
  type PlainJson,
} from "./outrider-error.ts";
