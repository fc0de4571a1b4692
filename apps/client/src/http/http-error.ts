import { isOutriderError } from "@outrider/foundation";

/** An answer that is not 200: plain text, as Nomad has it. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** HTTP status of each kind of failure; everything else is 500. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  ERR_OUTRIDER_SERVER_NOT_FOUND: 404,
  ERR_OUTRIDER_SERVER_INVALID: 500,
  ERR_OUTRIDER_SERVER_UNSUPPORTED: 400,
  ERR_OUTRIDER_NODE_UNKNOWN_ALLOC: 404,
  ERR_OUTRIDER_NODE_NOT_STARTED: 404,
  ERR_OUTRIDER_NODE_NOT_RUNNING: 404,
  ERR_OUTRIDER_NODE_UNKNOWN_TASK: 400,
  ERR_OUTRIDER_ALLOCDIR_NOT_FOUND: 404,
  ERR_OUTRIDER_ALLOCDIR_DESTROYED: 404,
  ERR_OUTRIDER_ALLOCDIR_NOT_BUILT: 404,
  ERR_OUTRIDER_ALLOCDIR_IS_DIRECTORY: 400,
  ERR_OUTRIDER_ALLOCDIR_NOT_REGULAR: 400,
  ERR_OUTRIDER_ALLOCDIR_SEEK: 400,
  ERR_OUTRIDER_ALLOCDIR_BAD_PATH: 400,
  ERR_OUTRIDER_STATE_FULL: 507,
  ERR_OUTRIDER_STATE_READ_ONLY: 503,
};

/** What a failure looks like to a client: never a stack, never a path of this machine that the message does not hold. */
export function toHttpError(reason: unknown): HttpError {
  if (reason instanceof HttpError) return reason;
  if (isOutriderError(reason)) {
    const status =
      STATUS_BY_CODE[reason.code] ??
      (reason.code.startsWith("ERR_OUTRIDER_STRUCTS_") || reason.code.startsWith("ERR_OUTRIDER_JOBSPEC_") ? 400 : 500);
    return new HttpError(status, reason.message);
  }
  const framework = reason as { readonly statusCode?: unknown; readonly message?: unknown };
  if (typeof framework.statusCode === "number" && framework.statusCode >= 400 && framework.statusCode < 500) {
    return new HttpError(framework.statusCode, String(framework.message));
  }
  return new HttpError(500, reason instanceof Error ? reason.message : String(reason));
}
