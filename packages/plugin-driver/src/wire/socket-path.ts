import { PluginStartError } from "../contract/errors.ts";

/** Longest path that fits a unix socket address. @public */
export const MAX_SOCKET_PATH_BYTES = 107;

/** @throws {@link PluginStartError} of kind `socket-path` */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES && bytes > 0 && !path.includes("\0")) return;
  throw new PluginStartError(
    "socket-path",
    `unix socket path has ${bytes} bytes, allowed are 1 to ${MAX_SOCKET_PATH_BYTES}: ${path}`,
    { details: { path } },
  );
}
