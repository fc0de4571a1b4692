/** The driver's folder, and a path to its socket that is short however deep the folder lies. */
import { constants, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";

/** Name of the socket in the folder. */
export const SOCKET_NAME = "driver.sock";

/** Opens the folder and returns the path of its socket for this process: unix sockets allow 107 bytes, a data folder may be deeper. */
export function shortSocketPath(folder: string): string {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  return `/proc/self/fd/${fd}/${SOCKET_NAME}`;
}

/** Makes `<dataDir>/driver`, for this user only. */
export function makeStateFolder(dataDir: string): string {
  const folder = join(dataDir, "driver");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
