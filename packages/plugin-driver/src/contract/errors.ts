/** Errors of the plugin border. Recognise them by `code` (or the `is…` guards): two installed versions then still agree. */
import { isOutriderError, OutriderError } from "@outrider/foundation";

/** The words of a driver that does not know a task id; hosts compare this text. */
export const TASK_NOT_FOUND_TEXT = "task not found for given id";
/** The words of a driver that has no statistics. */
export const STATS_NOT_IMPLEMENTED_TEXT = "stats not implemented for driver";
/** The words of a call that found its plugin process gone. */
export const PLUGIN_SHUTDOWN_TEXT = "plugin is shut down";

/**
 * A failure of `startTask` or `taskStats` that says whether trying again may help. Thrown by drivers, rebuilt on the host side.
 * @public
 */
export class RecoverableError extends OutriderError {
  override readonly name: string = "RecoverableError";

  constructor(message: string, recoverable = true, options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE", message, { ...options, recoverable });
  }
}

/**
 * The driver does not know the task id.
 * @public
 */
export class TaskNotFoundError extends OutriderError {
  override readonly name: string = "TaskNotFoundError";

  constructor(taskId?: string, options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND", TASK_NOT_FOUND_TEXT, {
      ...options,
      ...(taskId === undefined ? {} : { details: { taskId } }),
    });
  }
}

/**
 * The driver has no statistics for this task: never ask again during this run.
 * @public
 */
export class StatsNotImplementedError extends OutriderError {
  override readonly name: string = "StatsNotImplementedError";

  constructor(options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED", STATS_NOT_IMPLEMENTED_TEXT, options);
  }
}

/**
 * The driver does not offer the call at all.
 * @public
 */
export class NotImplementedError extends OutriderError {
  override readonly name: string = "NotImplementedError";

  constructor(what: string, options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED", `driver does not implement ${what}`, {
      ...options,
      details: { what },
    });
  }
}

/**
 * The plugin process is gone, or this connection to it is closed: find the newer instance and call that one.
 * @public
 */
export class PluginShutdownError extends OutriderError {
  override readonly name: string = "PluginShutdownError";

  constructor(options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_SHUTDOWN", PLUGIN_SHUTDOWN_TEXT, { ...options, recoverable: true });
  }
}

/**
 * The plugin answered something that the protocol forbids.
 * @public
 */
export class PluginProtocolError extends OutriderError {
  override readonly name: string = "PluginProtocolError";

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, string>> } = {},
  ) {
    super("ERR_OUTRIDER_PLUGIN_PROTOCOL", message, options);
  }
}

/**
 * A call failed in the plugin with a status that has no class of its own.
 * @public
 */
export class PluginCallError extends OutriderError {
  override readonly name: string = "PluginCallError";
  /** The gRPC status code. */
  readonly status: number;

  constructor(message: string, status: number, options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_CALL", message, { ...options, details: { status } });
    this.status = status;
  }
}

/**
 * A call took longer than its deadline.
 * @public
 */
export class PluginTimeoutError extends OutriderError {
  override readonly name: string = "PluginTimeoutError";

  constructor(what: string, timeoutMs: number, options: { readonly cause?: unknown } = {}) {
    super("ERR_OUTRIDER_PLUGIN_TIMEOUT", `${what} did not answer within ${timeoutMs} ms`, {
      ...options,
      recoverable: true,
      details: { what, timeoutMs },
    });
  }
}

/** Why a plugin could not be started or attached to. @public */
export type PluginStartKind =
  | "spawn"
  | "timeout"
  | "exited"
  | "handshake"
  | "core-version"
  | "api-version"
  | "network"
  | "protocol"
  | "certificate"
  | "connect"
  | "identity"
  | "socket-path";

/**
 * A plugin could not be started or attached to.
 * @public
 */
export class PluginStartError extends OutriderError {
  override readonly name: string = "PluginStartError";
  readonly kind: PluginStartKind;

  constructor(
    kind: PluginStartKind,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly recoverable?: boolean;
      readonly details?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super("ERR_OUTRIDER_PLUGIN_START", message, { ...options, details: { ...options.details, kind } });
    this.kind = kind;
  }
}

/** Whether a failure means that the plugin process is gone. @public */
export function isPluginShutdown(reason: unknown): boolean {
  return isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_SHUTDOWN");
}

/** Whether a failure means that the driver does not know the task. @public */
export function isTaskNotFound(reason: unknown): boolean {
  return isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND");
}
