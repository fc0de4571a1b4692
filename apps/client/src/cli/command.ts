import type { Clock } from "@outrider/backoff";
import { ApiClient } from "./api-client.ts";
import type { FlagSpec, ParsedFlags } from "./go-flags.ts";
import { ignoredPath, targetOf } from "./target.ts";

export { CommandError } from "./target.ts";

/** A terminal on which somebody sits. */
export interface UserTerminal {
  /** Keys come one by one and mean nothing to the terminal itself, or lines as usual. */
  setRaw(raw: boolean): void;
  size(): { readonly height: number; readonly width: number };
  /** Calls back after every change of the window; gives how to stop. */
  onResize(changed: () => void): () => void;
}

/** Where a command writes. `write` gives false when the reader is slow; `drain` tells that there is room again. */
export interface Output {
  write(text: string | Uint8Array): unknown;
  once?(event: "drain", fn: () => void): unknown;
  readonly isTTY?: boolean;
}

/** Everything a command may touch of the outside. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: { write(text: string | Uint8Array): unknown; readonly isTTY?: boolean };
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** The user's terminal, when both input and output are one. */
  readonly terminal?: UserTerminal | undefined;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** One command of the program. */
export interface Command {
  /** Its words: `job run`. */
  readonly name: string;
  /** One line for lists of commands. */
  readonly synopsis: string;
  /** What `-help` prints below the usage line. */
  readonly usage: string;
  readonly flags: FlagSpec;
  /** Whether the flags of {@link CLIENT_FLAGS} belong to it. */
  readonly client: boolean;
  run(context: CommandContext, flags: ParsedFlags): Promise<number>;
}

/** The flags of every command that talks to an agent. */
export const CLIENT_FLAGS: FlagSpec = {
  address: "string",
  region: "string",
  namespace: "string",
  token: "string",
  "no-color": "bool",
  "force-color": "bool",
  "ca-cert": "string",
  "ca-path": "string",
  "client-cert": "string",
  "client-key": "string",
  "tls-server-name": "string",
  "tls-skip-verify": "bool",
};

/** The client of a command's flags and environment. */
export function clientOf(context: CommandContext, flags: ParsedFlags): ApiClient {
  const target = targetOf(flags, context.env);
  const ignored = ignoredPath(target.address);
  if (ignored !== "") context.stderr.write(`Note: the path ${JSON.stringify(ignored)} of the address is not used.\n`);
  return new ApiClient(target, context.clock);
}
