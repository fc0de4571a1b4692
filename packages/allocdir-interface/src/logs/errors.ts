/** Helpers around system errors. */

/** The `code` of a system error, or "". */
export function errnoOf(reason: unknown): string {
  const code = (reason as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** Whether a failed write may work later: the disk is full, over quota, or failing. */
export function isDiskTrouble(reason: unknown): boolean {
  return /^(ENOSPC|EDQUOT|EIO|EROFS|EFBIG)$/.test(errnoOf(reason));
}
