/** What a failure of a source means for the collector. @public */
export type StatsFailure =
  /** The driver has no statistics: stop. */
  | "not-implemented"
  /** The plugin process is gone or going: try again quietly. */
  | "plugin-shutdown"
  /** Trying again cannot help: stop. */
  | "unrecoverable"
  /** Try again. */
  | "recoverable";

/** What a driver without statistics says. @public */
export const NOT_IMPLEMENTED_TEXT = "stats not implemented for driver";
/** What a call to an ended plugin says. @public */
export const PLUGIN_SHUTDOWN_TEXT = "plugin is shut down";
/** The code of an error by which a source of our own says that it has no statistics. @public */
export const NOT_IMPLEMENTED_CODE = "ERR_OUTRIDER_STATS_NOT_IMPLEMENTED";

const GRPC_UNIMPLEMENTED = 12;
/** What Go's gRPC puts in front of a message that crossed a process border. */
const GRPC_PREFIX = /^(?:rpc error: code = \w+ desc = )+/;
const MAX_CHAIN = 32;

interface Failure {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly recoverable?: unknown;
  readonly cause?: unknown;
}

/** Sorts a failure by its whole chain of causes: by code, by exact text behind gRPC's prefix, and by the flag `recoverable`. @public */
export function classifyFailure(reason: unknown): StatsFailure {
  let unrecoverable = false;
  let shutdown = false;
  let link = reason;
  for (let i = 0; i < MAX_CHAIN && typeof link === "object" && link !== null; i++) {
    const { message, code, recoverable, cause } = link as Failure;
    const text = typeof message === "string" ? message.replace(GRPC_PREFIX, "") : undefined;
    if (code === GRPC_UNIMPLEMENTED || code === NOT_IMPLEMENTED_CODE || text === NOT_IMPLEMENTED_TEXT)
      return "not-implemented";
    if (text === PLUGIN_SHUTDOWN_TEXT) shutdown = true;
    if (recoverable === false) unrecoverable = true;
    link = cause;
  }
  // Before the flag: errors are unrecoverable unless they say otherwise, but an ended plugin comes back.
  if (shutdown) return "plugin-shutdown";
  return unrecoverable ? "unrecoverable" : "recoverable";
}

/** The text of a failure, for telling repeated ones. @internal */
export function failureText(reason: unknown): string {
  return reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
}
