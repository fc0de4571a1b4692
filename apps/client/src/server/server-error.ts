import { OutriderError } from "@outrider/foundation";

/** Failures of server commands, with the HTTP status they have and the words clients match on. */
export type ServerErrorCode =
  | "ERR_OUTRIDER_SERVER_NOT_FOUND"
  | "ERR_OUTRIDER_SERVER_INVALID"
  | "ERR_OUTRIDER_SERVER_CONFLICT"
  | "ERR_OUTRIDER_SERVER_UNSUPPORTED"
  | "ERR_OUTRIDER_SERVER_LOOKUP";

/** Makes an error of the embedded server. */
export function serverError(
  code: ServerErrorCode,
  message: string,
  details: Readonly<Record<string, string | number | readonly string[]>> = {},
): OutriderError {
  return new OutriderError(code, message, { details });
}
