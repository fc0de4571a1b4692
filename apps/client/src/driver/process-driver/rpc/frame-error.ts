/** Failures as values of a frame. */
import { isOutriderError, OutriderError } from "@outrider/foundation";
import {
  NotImplementedError,
  PluginCallError,
  RecoverableError,
  StatsNotImplementedError,
  TaskNotFoundError,
} from "@outrider/plugin-driver";

/** What the other side is told. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly recoverable?: boolean;
}

/** A failure of the driver process for the agent. */
export function toWireError(reason: unknown): WireError {
  const message = reason instanceof Error ? reason.message : String(reason);
  return isOutriderError(reason)
    ? { code: reason.code, message, recoverable: reason.recoverable }
    : { code: "", message };
}

/** The error of the same kind in the agent. */
export function fromWireError({ code, message, recoverable }: WireError): Error {
  switch (code) {
    case "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND":
      return new TaskNotFoundError();
    case "ERR_OUTRIDER_PLUGIN_DRIVER_FAILURE":
      return new RecoverableError(message, recoverable);
    case "ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED":
      return new StatsNotImplementedError();
    case "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED":
      return new NotImplementedError(message.replace(/^driver does not implement /, ""));
    case "":
      return new PluginCallError(message, UNKNOWN_STATUS);
    default:
      return new OutriderError(code, message, { recoverable: recoverable ?? false });
  }
}

/** What gRPC drivers answer for a failure without a status. */
const UNKNOWN_STATUS = 2;
