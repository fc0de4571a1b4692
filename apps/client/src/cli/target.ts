import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiTarget } from "./api-client.ts";
import type { ParsedFlags } from "./go-flags.ts";

/** Address when neither flag nor NOMAD_ADDR names one. */
export const DEFAULT_ADDRESS = "http://127.0.0.1:4646";

/** A failure that the command has worded itself; the program prints it and exits 1. */
export class CommandError extends Error {
  readonly code = "ERR_OUTRIDER_CLI_COMMAND";
}

/** The agent that flags and environment name. A flag wins over a variable. */
export function targetOf(flags: ParsedFlags, env: Readonly<Record<string, string | undefined>>): ApiTarget {
  const pick = (flag: string, variable: string): string =>
    flags.has(flag) ? flags.string(flag) : (env[variable] ?? "");
  const read = (flag: string, variable: string): Buffer | undefined => {
    const path = pick(flag, variable);
    return path === "" ? undefined : readable(`-${flag} (${variable})`, path, () => readFileSync(path));
  };
  const folder = pick("ca-path", "NOMAD_CAPATH");
  const ca = [
    read("ca-cert", "NOMAD_CACERT"),
    ...(folder === "" ? [] : readable("-ca-path (NOMAD_CAPATH)", folder, () => filesOf(folder))),
  ].filter((pem) => pem !== undefined);
  const cert = read("client-cert", "NOMAD_CLIENT_CERT");
  const key = read("client-key", "NOMAD_CLIENT_KEY");
  if ((cert === undefined) !== (key === undefined))
    throw new CommandError("a client certificate and its key are given together: -client-cert and -client-key");
  const servername = pick("tls-server-name", "NOMAD_TLS_SERVER_NAME");
  const skip = flags.bool("tls-skip-verify") || /^(1|t|true)$/i.test(env["NOMAD_SKIP_VERIFY"] ?? "");
  const auth = env["NOMAD_HTTP_AUTH"] ?? "";
  return {
    address: checkedAddress(pick("address", "NOMAD_ADDR") || DEFAULT_ADDRESS),
    region: pick("region", "NOMAD_REGION"),
    namespace: pick("namespace", "NOMAD_NAMESPACE"),
    token: pick("token", "NOMAD_TOKEN"),
    ...(auth === "" ? {} : { auth }),
    tls: {
      ...(ca.length > 0 ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(servername ? { servername } : {}),
      ...(skip ? { rejectUnauthorized: false } : {}),
    },
  };
}

/** What is left out of an address, as Nomad's own command does: the API begins at the root of a host. */
export function ignoredPath(address: string): string {
  if (address.startsWith("unix://")) return "";
  const { pathname } = new URL(address);
  return pathname === "/" ? "" : pathname;
}

function checkedAddress(address: string): string {
  if (/^unix:\/\/./.test(address)) return address;
  const scheme = URL.canParse(address) ? new URL(address).protocol : "";
  if (scheme !== "http:" && scheme !== "https:")
    throw new CommandError(
      `the address ${JSON.stringify(address)} is no URL of an agent: it begins with http://, https:// or unix:// (-address, NOMAD_ADDR)`,
    );
  return address;
}

function filesOf(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
}

function readable<T>(option: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "it does not exist" : (code ?? String(cause));
    throw new CommandError(`${option}: cannot read ${JSON.stringify(path)}: ${why}`, { cause });
  }
}
