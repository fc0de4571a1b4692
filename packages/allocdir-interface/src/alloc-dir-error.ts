import { OutriderError, type OutriderErrorOptions } from "@outrider/foundation";

const CODES = {
  PATH_ESCAPES: "ERR_OUTRIDER_ALLOCDIR_PATH_ESCAPES",
  BAD_PATH: "ERR_OUTRIDER_ALLOCDIR_BAD_PATH",
  BAD_NAME: "ERR_OUTRIDER_ALLOCDIR_BAD_NAME",
  SECRET_FILE: "ERR_OUTRIDER_ALLOCDIR_SECRET_FILE",
  PRIVATE_FILE: "ERR_OUTRIDER_ALLOCDIR_PRIVATE_FILE",
  NOT_BUILT: "ERR_OUTRIDER_ALLOCDIR_NOT_BUILT",
  NOT_FOUND: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND",
  NOT_DIRECTORY: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY",
  NOT_REGULAR: "ERR_OUTRIDER_ALLOCDIR_NOT_REGULAR",
  IS_DIRECTORY: "ERR_OUTRIDER_ALLOCDIR_IS_DIRECTORY",
  SEEK: "ERR_OUTRIDER_ALLOCDIR_SEEK",
  LOOP: "ERR_OUTRIDER_ALLOCDIR_LOOP",
  BUSY: "ERR_OUTRIDER_ALLOCDIR_BUSY",
  UNSUPPORTED_ISOLATION: "ERR_OUTRIDER_ALLOCDIR_UNSUPPORTED_ISOLATION",
  DESTROYED: "ERR_OUTRIDER_ALLOCDIR_DESTROYED",
  TOO_LARGE: "ERR_OUTRIDER_ALLOCDIR_TOO_LARGE",
  NOT_EMPTY: "ERR_OUTRIDER_ALLOCDIR_NOT_EMPTY",
  NO_SPACE: "ERR_OUTRIDER_ALLOCDIR_NO_SPACE",
  READ_ONLY: "ERR_OUTRIDER_ALLOCDIR_READ_ONLY",
  ARCHIVE_FORMAT: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_FORMAT",
  ARCHIVE_ENTRY: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_ENTRY",
  ARCHIVE_ESCAPE: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_ESCAPE",
  ARCHIVE_TYPE: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_TYPE",
  ARCHIVE_LIMIT: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_LIMIT",
  ARCHIVE_TRUNCATED: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_TRUNCATED",
  ARCHIVE_REMOTE: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_REMOTE",
  FETCH: "ERR_OUTRIDER_ALLOCDIR_FETCH",
  IO: "ERR_OUTRIDER_ALLOCDIR_IO",
} as const;

/** Why an operation on an allocation directory was refused. @public */
export type AllocDirReason = keyof typeof CODES;

/**
 * A refused or failed operation. `path` is what the caller asked for, relative to the allocation: host paths never stand in
 * a message. @public
 */
export class AllocDirError extends OutriderError {
  override readonly name = "AllocDirError";
  readonly path: string;

  constructor(reason: AllocDirReason, message: string, path: string, options: OutriderErrorOptions = {}) {
    super(CODES[reason], message, { ...options, details: { path, ...options.details } });
    this.path = path;
  }
}

/** The reason that a code stands for. */
export const reasonOf = (code: string): AllocDirReason =>
  (Object.keys(CODES) as AllocDirReason[]).find((reason) => CODES[reason] === code) ?? "IO";

const KNOWN: Readonly<Record<string, [AllocDirReason, string]>> = {
  ENOENT: ["NOT_FOUND", "no such file or directory"],
  ENOTDIR: ["NOT_DIRECTORY", "not a directory"],
  EISDIR: ["IS_DIRECTORY", "is a directory"],
  ELOOP: ["LOOP", "too many levels of symbolic links"],
  ENOSPC: ["NO_SPACE", "no space left on device"],
  EDQUOT: ["NO_SPACE", "disk quota exceeded"],
  EROFS: ["READ_ONLY", "read-only file system"],
};

/** A system error as an {@link AllocDirError} of the path asked for; an AllocDirError stays as it is. */
export function systemError(cause: unknown, path: string): AllocDirError {
  if (cause instanceof AllocDirError) return cause;
  const errno = (cause as NodeJS.ErrnoException | null)?.code ?? "";
  const [reason, text] = KNOWN[errno] ?? ["IO", errno === "" ? String(cause) : errno];
  return new AllocDirError(reason, `${JSON.stringify(path)}: ${text}`, path, { cause });
}
