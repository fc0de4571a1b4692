/** Takes the pipes to the host out of reach of tasks: descriptors 0 to 2 become /dev/null, ours are copies that no child inherits. */
import { closeSync, constants, createWriteStream, openSync, writeSync, type WriteStream } from "node:fs";

/** How a plugin speaks to its host besides gRPC. */
export interface HostStdio {
  /** Writes the handshake line at once. */
  handshake(line: string): void;
  /** Queues a log line; dropped when the host does not read or is gone. */
  log(line: string): void;
  /** Resolves when queued lines are written, or `limitMs` later. */
  flush(limitMs: number): Promise<void>;
}

/** System calls, to be replaced in tests. */
export interface StdioCalls {
  open(path: string, flags: number): number;
  close(fd: number): void;
  write(fd: number, text: string): void;
  stream(fd: number): WriteStream;
  setTimeout(fn: () => void, ms: number): unknown;
}

export const nodeStdio: Omit<StdioCalls, "setTimeout"> = {
  open: (path, flags) => openSync(path, flags),
  close: (fd) => closeSync(fd),
  write: (fd, text) => void writeSync(fd, text),
  stream: (fd) => createWriteStream("", { fd, autoClose: false }),
};

/** So much waits for a host that does not read; further lines are lost rather than the plugin blocked. */
const MAX_QUEUED_BYTES = 1024 * 1024;

/** A close-on-exec copy of a pipe; undefined where the system cannot do that (no /proc, a socket). */
function privateCopy(calls: StdioCalls, fd: number): number | undefined {
  try {
    return calls.open(`/proc/self/fd/${fd}`, constants.O_WRONLY);
  } catch {
    return undefined;
  }
}

/** Puts /dev/null in the place of a descriptor, so that a child with inherited stdio gets nothing of the host. */
function neutralise(calls: StdioCalls, fd: number, flags: number): void {
  calls.close(fd);
  // The lowest free number is the one just closed.
  calls.open("/dev/null", flags);
}

/** To be called first of all, while nothing else opens descriptors. */
export function takeStdio(calls: StdioCalls): HostStdio {
  neutralise(calls, 0, constants.O_RDONLY);
  const out = privateCopy(calls, 1);
  if (out !== undefined) neutralise(calls, 1, constants.O_WRONLY);
  const err = privateCopy(calls, 2);
  if (err !== undefined) neutralise(calls, 2, constants.O_WRONLY);
  const stream = calls.stream(err ?? 2);
  let broken = false;
  // EPIPE after the death of the host: the plugin and its tasks go on without a log.
  stream.on("error", () => (broken = true));
  return {
    handshake: (line) => {
      try {
        calls.write(out ?? 1, line);
      } catch {
        // nobody reads: then nobody will connect either
      }
    },
    log: (line) => {
      if (broken || stream.writableLength > MAX_QUEUED_BYTES) return;
      stream.write(line);
    },
    flush: (limitMs) =>
      new Promise((resolve) => {
        if (broken || stream.writableLength === 0) return resolve();
        calls.setTimeout(resolve, limitMs);
        stream.end(resolve);
      }),
  };
}
