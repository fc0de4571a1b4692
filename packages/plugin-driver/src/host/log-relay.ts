/** Turns the stderr of a plugin into log lines of the host, by the rules that go-plugin hosts follow. */
import type { Logger } from "@outrider/foundation";
import { LineSplitter } from "./line-splitter.ts";

type Level = "trace" | "debug" | "info" | "warn" | "error";

const MAX_LINE_BYTES = 64 * 1024;
const LEVELS: ReadonlySet<string> = new Set(["trace", "debug", "info", "warn", "error"]);
const TAG = /^\[(TRACE|DEBUG|INFO|WARN|ERROR)\]/;

/** A line with its level; `sticky` when a Go runtime is about to print a stack. */
export interface PluginLogLine {
  readonly level: Level;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly panics?: boolean;
}

/** One line of stderr. Odd JSON is text: no line can hurt the host. */
export function parseLogLine(line: string, untagged: Level = "debug"): PluginLogLine {
  if (line.startsWith("{")) {
    const parsed = parseHclog(line);
    return parsed ?? { level: "debug", message: line, fields: {} };
  }
  const tag = TAG.exec(line)?.[1];
  if (tag !== undefined) return { level: tag.toLowerCase() as Level, message: line, fields: {} };
  if (line.startsWith("panic: ") || line.startsWith("fatal error: ")) {
    return { level: "error", message: line, fields: {}, panics: true };
  }
  return { level: untagged, message: line, fields: {} };
}

function parseHclog(line: string): PluginLogLine | undefined {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { "@message": message, "@level": level, "@timestamp": timestamp, ...fields } = value;
  if (typeof message !== "string" || typeof level !== "string") return undefined;
  if (timestamp !== undefined && typeof timestamp !== "string") return undefined;
  const name = level.toLowerCase();
  if (!LEVELS.has(name)) return undefined;
  return {
    level: name as Level,
    message,
    fields: timestamp === undefined ? fields : { ...fields, timestamp },
  };
}

/** Relays everything that is pushed; call `end` when the stream has ended. */
export function createLogRelay(logger: Logger): { push(chunk: Buffer): void; end(): void } {
  let untagged: Level = "debug";
  return new LineSplitter(MAX_LINE_BYTES, (line, piece) => {
    if (line === "") return;
    if (piece) return logger.debug(line);
    const { level, message, fields, panics } = parseLogLine(line, untagged);
    if (panics === true) untagged = "error";
    logger[level]({ ...fields }, message);
  });
}
