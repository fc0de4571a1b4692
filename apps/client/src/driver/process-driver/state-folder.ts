/** The driver's folder, and paths to its sockets that are short however deep the folder lies. */
import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";

/** Where the agent calls: the driver, log collection, versions, leaving. */
export const PROCESS_SOCKET = "process.sock";

/** An open folder. */
export interface StateFolder {
  readonly path: string;
  /** The path of a socket in it for this process: unix sockets allow 107 bytes, a data folder may be deeper. */
  socket(name: string): string;
  close(): void;
}

/** Makes `<dataDir>/driver`, for this user only, and opens it. */
export function openStateFolder(dataDir: string): StateFolder {
  const path = join(dataDir, "driver");
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  if ((fstatSync(fd).mode & 0o077) !== 0) chmodSync(path, 0o700);
  let open = true;
  const close = (): void => {
    if (open) closeSync(fd);
    open = false;
  };
  return { path, socket: (name) => `/proc/self/fd/${fd}/${name}`, close };
}
