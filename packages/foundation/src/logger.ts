/** One level of a logger: a message, or bindings and a message (pino's calling form). @public */
export interface LogFn {
  (message: string): void;
  (bindings: object, message?: string): void;
}

/** The logger that Outrider packages take; a pino logger is one as it is. @public */
export interface Logger {
  readonly trace: LogFn;
  readonly debug: LogFn;
  readonly info: LogFn;
  readonly warn: LogFn;
  readonly error: LogFn;
  /** A logger that adds these bindings to each line. */
  child(bindings: Record<string, unknown>): Logger;
}

const nothing = (): void => undefined;

/** Drops everything: the default wherever a logger is optional. @public */
export const noopLogger: Logger = Object.freeze({
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => noopLogger,
});
