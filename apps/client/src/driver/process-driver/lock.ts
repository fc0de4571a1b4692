/** One driver a state folder: a name in the kernel that dies with its holder. */
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer } from "node:net";

/** Exit status of a driver that found the folder taken. */
export const EXIT_LOCKED = 3;

/**
 * Takes the folder for this process, until its end. Nobody is answered on the socket: it is a lock, not a door.
 * Resolves to false when another process has it.
 */
export async function lockFolder(folder: string): Promise<boolean> {
  const { dev, ino } = statSync(folder);
  const server = createServer((socket) => socket.destroy());
  server.listen(lockName(dev, ino));
  try {
    await once(server, "listening");
    server.unref();
    return true;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw reason;
  }
}

/** Longest abstract name. Filled up to it, because versions of Node differ in whether they pad a shorter one, and so in what it means. */
const NAME_BYTES = 107;

function lockName(dev: number, ino: number): string {
  return `\0${`outrider-${dev}-${ino}-`.padEnd(NAME_BYTES, ".")}`;
}
