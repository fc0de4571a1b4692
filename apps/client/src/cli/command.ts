import { readFileSync } from "node:fs";
import type { Clock } from "@outrider/backoff";
import { ApiClient, type ApiTarget } from "./api-client.ts";
import type { FlagSpec, ParsedFlags } from "./go-flags.ts";

/** Everything a command may touch of the outside. */
export interface CommandContext {
  readonly stdout: { write(text: string | Uint8Array): unknown; readonly isTTY?: boolean };
  readonly stderr: { write(text: string | Uint8Array): unknown; readonly isTTY?: boolean };
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
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
  "client-cert": "string",
  "client-key": "string",
  "tls-server-name": "string",
  "tls-skip-verify": "bool",
};

/** Address when neither flag nor NOMAD_ADDR names one. */
export const DEFAULT_ADDRESS = "http://127.0.0.1:4646";

/** The agent that flags and environment name. A flag wins over a variable. */
export function targetOf(flags: ParsedFlags, env: CommandContext["env"]): ApiTarget {
  const pick = (flag: string, variable: string): string =>
    flags.has(flag) ? flags.string(flag) : (env[variable] ?? "");
  const file = (path: string): Buffer | undefined => (path === "" ? undefined : readFileSync(path));
  const ca = file(pick("ca-cert", "NOMAD_CACERT"));
  const cert = file(pick("client-cert", "NOMAD_CLIENT_CERT"));
  const key = file(pick("client-key", "NOMAD_CLIENT_KEY"));
  const servername = pick("tls-server-name", "NOMAD_TLS_SERVER_NAME");
  const skip = flags.bool("tls-skip-verify") || /^(1|t|true)$/i.test(env["NOMAD_SKIP_VERIFY"] ?? "");
  return {
    address: pick("address", "NOMAD_ADDR") || DEFAULT_ADDRESS,
    region: pick("region", "NOMAD_REGION"),
    namespace: pick("namespace", "NOMAD_NAMESPACE"),
    token: pick("token", "NOMAD_TOKEN"),
    tls: {
      ...(ca ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(servername ? { servername } : {}),
      ...(skip ? { rejectUnauthorized: false } : {}),
    },
  };
}

/** The client of a command's flags and environment. */
export const clientOf = (context: CommandContext, flags: ParsedFlags): ApiClient =>
  new ApiClient(targetOf(flags, context.env));

/** A failure that the command has worded itself; the program prints it and exits 1. */
export class CommandError extends Error {
  readonly code = "ERR_OUTRIDER_CLI_COMMAND";
}
