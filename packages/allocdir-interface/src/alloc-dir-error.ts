import { OutriderError, type OutriderErrorOptions } from "@outrider/foundation";

/** Why an operation on an allocation directory was refused; the last part of `ERR_OUTRIDER_ALLOCDIR_<REASON>`. @public */
export type AllocDirReason =
  | "PATH_ESCAPES"
  | "BAD_PATH"
  | "BAD_NAME"
  | "SECRET_FILE"
  | "PRIVATE_FILE"
  | "NOT_BUILT"
  | "NOT_FOUND"
  | "NOT_DIRECTORY"
  | "NOT_REGULAR"
  | "IS_DIRECTORY"
  | "SEEK"
  | "LOOP"
  | "BUSY"
  | "UNSUPPORTED_ISOLATION"
  | "DESTROYED"
  | "IO";

/**
 * A refused or failed operation. `path` is what the caller asked for, relative to the allocation: host paths never stand in
 * a message. @public
 */
export class AllocDirError extends OutriderError {
  override readonly name = "AllocDirError";
  readonly path: string;

  constructor(reason: AllocDirReason, message: string, path: string, options: OutriderErrorOptions = {}) {
    super(`ERR_OUTRIDER_ALLOCDIR_${reason}`, message, { ...options, details: { path, ...options.details } });
    this.path = path;
  }
}

const KNOWN: Readonly<Record<string, [AllocDirReason, string]>> = {
  ENOENT: ["NOT_FOUND", "no such file or directory"],
  ENOTDIR: ["NOT_DIRECTORY", "not a directory"],
  EISDIR: ["IS_DIRECTORY", "is a directory"],
  ELOOP: ["LOOP", "too many levels of symbolic links"],
};

/** A system error as an {@link AllocDirError} of the path asked for; an AllocDirError stays as it is. */
export function systemError(cause: unknown, path: string): AllocDirError {
  if (cause instanceof AllocDirError) return cause;
  const errno = (cause as NodeJS.ErrnoException | null)?.code ?? "";
  const [reason, text] = KNOWN[errno] ?? ["IO", errno === "" ? String(cause) : errno];
  return new AllocDirError(reason, `${JSON.stringify(path)}: ${text}`, path, { cause });
}
