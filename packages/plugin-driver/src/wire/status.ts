/** Errors across the plugin border, both ways. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { isOutriderError } from "@outrider/foundation";
import {
  NotImplementedError,
  PluginCallError,
  RecoverableError,
  STATS_NOT_IMPLEMENTED_TEXT,
  StatsNotImplementedError,
  TASK_NOT_FOUND_TEXT,
  TaskNotFoundError,
} from "../contract/errors.ts";
import { StatusSchema } from "../gen/status_pb.js";
import { RecoverableErrorSchema } from "../gen/structs_pb.js";

const DETAILS_KEY = "grpc-status-details-bin";
const RECOVERABLE_TYPE = `type.googleapis.com/${RecoverableErrorSchema.typeName}`;
/** Trailers are HTTP headers: a driver's message must not outgrow what peers accept. */
const MAX_MESSAGE_CHARS = 4096;
const GO_PREFIX = /^rpc error: code = \w+ desc = /;

/** What grpc-js takes as the failure of a call. */
export interface StatusReply {
  readonly code: status;
  readonly details: string;
  readonly metadata?: Metadata;
}

/** A failure with a status of our choice. */
export class StatusError extends Error {
  readonly status: status;

  constructor(code: status, message: string) {
    super(message);
    this.status = code;
  }
}

function textOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason);
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)}…` : text;
}

/** The first recoverable flag in the chain of causes, when some error in it says so. */
function recoverableFlag(reason: unknown): boolean | undefined {
  for (let at = reason, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const flag: unknown = (at as { recoverable?: unknown }).recoverable;
    if (typeof flag === "boolean") return flag;
  }
  return undefined;
}

/** The bytes of a google.rpc.Status whose first detail is the recoverable flag. */
export function recoverableDetails(message: string, recoverable: boolean): Uint8Array {
  return toBinary(
    StatusSchema,
    create(StatusSchema, {
      code: status.FAILED_PRECONDITION,
      message,
      details: [
        {
          typeUrl: RECOVERABLE_TYPE,
          value: toBinary(RecoverableErrorSchema, create(RecoverableErrorSchema, { recoverable })),
        },
      ],
    }),
  );
}

/**
 * A driver's failure as a gRPC status.
 * @param carriesRecoverable true for StartTask and TaskStats, the only calls whose recoverable flag Nomad reads
 */
export function toStatus(reason: unknown, carriesRecoverable = false): StatusReply {
  if (reason instanceof StatusError) return { code: reason.status, details: reason.message };
  if (isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND")) {
    return { code: status.UNKNOWN, details: TASK_NOT_FOUND_TEXT };
  }
  if (isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED")) {
    return { code: status.UNIMPLEMENTED, details: textOf(reason) };
  }
  if (isOutriderError(reason, "ERR_OUTRIDER_PLUGIN_STATS_NOT_IMPLEMENTED")) {
    return { code: status.UNKNOWN, details: STATS_NOT_IMPLEMENTED_TEXT };
  }
  const details = textOf(reason);
  const recoverable = carriesRecoverable ? recoverableFlag(reason) : undefined;
  if (recoverable === undefined) return { code: status.UNKNOWN, details };
  const metadata = new Metadata();
  metadata.set(DETAILS_KEY, Buffer.from(recoverableDetails(details, recoverable)));
  return { code: status.FAILED_PRECONDITION, details, metadata };
}

/** A failed call as grpc-js reports it. */
export interface CallFailure {
  readonly code: status;
  readonly details: string;
  readonly metadata?: Metadata | undefined;
}

function recoverableDetail(metadata: Metadata | undefined): boolean | undefined {
  const bytes = metadata?.get(DETAILS_KEY)[0];
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const [first] = fromBinary(StatusSchema, bytes).details;
    if (first?.typeUrl !== RECOVERABLE_TYPE) return undefined;
    return fromBinary(RecoverableErrorSchema, first.value).recoverable;
  } catch {
    // Foreign bytes in the trailer: the status itself still counts.
    return undefined;
  }
}

/** A status of the plugin as an error of this package; `method` names the call. */
export function fromStatus(failure: CallFailure, method: string): Error {
  const { code } = failure;
  let text = failure.details;
  while (GO_PREFIX.test(text)) text = text.replace(GO_PREFIX, "");
  const recoverable = recoverableDetail(failure.metadata);
  if (recoverable !== undefined) return new RecoverableError(text, recoverable, { cause: failure });
  if (code === status.NOT_FOUND || (code === status.UNKNOWN && text === TASK_NOT_FOUND_TEXT)) {
    return new TaskNotFoundError(undefined, { cause: failure });
  }
  if (text === STATS_NOT_IMPLEMENTED_TEXT) return new StatsNotImplementedError({ cause: failure });
  const unsupported = /^(\w+) RPC not supported by driver$/.exec(text);
  if (unsupported !== null) return new NotImplementedError(unsupported[1] ?? method, { cause: failure });
  if (code === status.UNIMPLEMENTED) {
    return method.endsWith("/TaskStats")
      ? new StatsNotImplementedError({ cause: failure })
      : new NotImplementedError(method, { cause: failure });
  }
  return new PluginCallError(text === "" ? `call failed with status ${code}` : text, code, { cause: failure });
}
