import type { Logger } from "@outrider/foundation";
import pino from "pino";

const LEVELS: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "ERROR",
};
const OWN = new Set(["level", "time", "msg", "err"]);

/** Where log lines go and how they look. */
export interface AgentLogOptions {
  readonly level: string;
  readonly json: boolean;
  /** Absent: standard error. */
  readonly file?: string | undefined;
}

/** The agent's log: a pino logger, and the file opened anew on demand. */
export interface AgentLog {
  readonly logger: Logger;
  /** Opens the file again under its name, after it was moved away. */
  reopen(): void;
  flush(): void;
}

interface Line {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly code?: string; readonly stack?: string };
  readonly [key: string]: unknown;
}

const quoted = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=\\\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
};

/** One line for people: time, level, message, then what belongs to it. */
export function humanLine(json: string): string {
  let line: Line;
  try {
    line = JSON.parse(json) as Line;
  } catch {
    return json;
  }
  const facts = Object.entries(line)
    .filter(([key]) => !OWN.has(key))
    .map(([key, value]) => `${key}=${quoted(value)}`);
  if (line.err !== undefined) {
    facts.push(`error=${quoted(line.err.message ?? "unknown")}`);
    if (line.err.code !== undefined) facts.push(`code=${quoted(line.err.code)}`);
    if (line.level <= 20 && line.err.stack !== undefined) facts.push(`stack=${quoted(line.err.stack)}`);
  }
  const level = `[${LEVELS[line.level] ?? "INFO"}]`.padEnd(7);
  return `${new Date(line.time).toISOString()} ${level} ${line.msg ?? ""}${facts.length === 0 ? "" : `: ${facts.join(" ")}`}\n`;
}

/** Opens the log. Lines are written at once: what an agent said before it was killed is there. */
export function openAgentLog(o: AgentLogOptions): AgentLog {
  const destination = pino.destination({
    dest: o.file ?? 2,
    sync: true,
    ...(o.file === undefined ? {} : { append: true, mkdir: false, mode: 0o600 }),
  });
  // A terminal or a reader that went away must not take the agent along.
  destination.on("error", () => undefined);
  const stream = o.json ? destination : { write: (line: string) => void destination.write(humanLine(line)) };
  const logger = pino({ level: o.level, base: null }, stream);
  return {
    logger,
    reopen: () => {
      if (o.file !== undefined) destination.reopen(o.file);
    },
    flush: () => destination.flushSync(),
  };
}
