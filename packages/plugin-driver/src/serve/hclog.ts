/** A logger whose lines a Nomad agent can parse, and none of which can hurt it. */
import type { LogFn, Logger } from "@outrider/foundation";

const LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
/** The order of severity, from the least. @public */
export type LogLevel = (typeof LEVELS)[number];

/** Keys that hold the line's own facts. */
const RESERVED = /^@(message|level|timestamp|module)$/;
const MAX_TEXT_CHARS = 16_384;

/** Options of {@link createPluginLogger}. @public */
export interface PluginLoggerOptions {
  /** Takes one line, its line end included. */
  readonly write: (line: string) => void;
  /** Wall clock in epoch milliseconds. */
  readonly now: () => number;
  /** Lines below are dropped. Default `debug`. */
  readonly level?: LogLevel;
  /** Shown by the agent as `@module`. */
  readonly module?: string;
}

/** Exactly six digits of the second: with any other number a stock agent shows the raw line. */
export function hclogTime(epochMs: number): string {
  const whole = Math.floor(epochMs);
  const micros = Math.floor((epochMs - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** Every value as text: a number or an object in the wrong place ends a stock agent. */
function text(value: unknown): string {
  let out: string;
  if (typeof value === "string") out = value;
  else if (value instanceof Error) out = value.message;
  else if (typeof value === "object" && value !== null) {
    try {
      out =
        JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "null";
    } catch {
      out = "[unprintable]";
    }
  } else out = String(value);
  return out.length > MAX_TEXT_CHARS ? `${out.slice(0, MAX_TEXT_CHARS)}…` : out;
}

/** Pino-style logger that writes hclog JSON lines. @public */
export function createPluginLogger(o: PluginLoggerOptions): Logger {
  const least = LEVELS.indexOf(o.level ?? "debug");
  const make = (bindings: Readonly<Record<string, unknown>>): Logger => {
    const fn = (level: LogLevel): LogFn => {
      if (LEVELS.indexOf(level) < least) return () => undefined;
      return (first: object | string, second?: string) => {
        const fields = typeof first === "string" ? bindings : { ...bindings, ...first };
        const message = typeof first === "string" ? first : (second ?? "");
        const line: Record<string, string> = {
          "@level": level,
          "@message": text(message),
          "@module": text(o.module ?? "driver"),
          "@timestamp": hclogTime(o.now()),
        };
        for (const [key, value] of Object.entries(fields)) {
          if (value !== undefined && !RESERVED.test(key)) line[key] = text(value);
        }
        o.write(`${JSON.stringify(line)}\n`);
      };
    };
    return {
      trace: fn("trace"),
      debug: fn("debug"),
      info: fn("info"),
      warn: fn("warn"),
      error: fn("error"),
      child: (more) => make({ ...bindings, ...more }),
    };
  };
  return make({});
}
