/** The driver process's own log: JSON lines in one file, with one older file beside it. No logger library: this process stays small. */
import type { Clock } from "@outrider/backoff";
import type { Logger, LogFn } from "@outrider/foundation";
import { closeSync, fstatSync, openSync, renameSync } from "node:fs";
import { writeAll } from "./files.ts";

const MAX_BYTES = 5 * 1024 * 1024;

const LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
/** Least level that is written. */
export type LogLevel = (typeof LEVELS)[number];

/** Opens the log. Lines that the disk refuses are lost; the driver goes on. */
export function openDriverLog(path: string, level: LogLevel, clock: Clock): Logger {
  return makeLogger(new LogFile(path), LEVELS.indexOf(level), clock, {});
}

class LogFile {
  readonly #path: string;
  #fd: number;
  #size: number;

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, "a", 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  write(line: string): void {
    try {
      if (this.#size >= MAX_BYTES) this.#rotate();
      const bytes = Buffer.from(line);
      writeAll(this.#fd, bytes);
      this.#size += bytes.length;
    } catch {
      // a full disk must not stop the driver
    }
  }

  #rotate(): void {
    renameSync(this.#path, `${this.#path}.1`);
    closeSync(this.#fd);
    this.#fd = openSync(this.#path, "a", 0o600);
    this.#size = 0;
  }
}

function makeLogger(file: LogFile, least: number, clock: Clock, bound: Record<string, unknown>): Logger {
  const at = (index: number): LogFn => {
    if (index < least) return () => undefined;
    return (first: object | string, second?: string) => {
      const [bindings, message] = typeof first === "string" ? [{}, first] : [first, second];
      const time = new Date(clock.now()).toISOString();
      file.write(
        `${JSON.stringify({ time, level: LEVELS[index], pid: process.pid, ...bound, ...shown(bindings), msg: message })}\n`,
      );
    };
  };
  return {
    trace: at(0),
    debug: at(1),
    info: at(2),
    warn: at(3),
    error: at(4),
    child: (bindings) => makeLogger(file, least, clock, { ...bound, ...bindings }),
  };
}

/** Errors have no enumerable fields: show what matters. */
function shown(bindings: object): object {
  const { err, ...rest } = bindings as { err?: unknown };
  if (err === undefined) return rest;
  if (!(err instanceof Error)) return { ...rest, err: JSON.stringify(err) };
  return { ...rest, err: { message: err.message, code: (err as { code?: unknown }).code, stack: err.stack } };
}
