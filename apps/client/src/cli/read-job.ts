import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { JobInput } from "@outrider/nomad-structs";
import { formatDiagnostics, parseJobFile } from "../jobspec/index.ts";
import { CommandError, type CommandContext } from "./command.ts";
import type { FlagSpec, ParsedFlags } from "./go-flags.ts";

/** No job file is larger: beyond it something else was named by mistake. */
const MAX_JOB_FILE_BYTES = 8 * 2 ** 20;

/** The flags of every command that reads a job file. */
export const JOB_FILE_FLAGS: FlagSpec = { json: "bool", "hcl2-strict": "bool", var: "list", "var-file": "list" };

/** A job file's job and its text, as the server keeps both. */
export interface ReadJob {
  readonly job: JobInput;
  readonly source: string;
  readonly format: "hcl2" | "json";
  readonly variableFlags: Readonly<Record<string, string>>;
}

/** Reads and evaluates a job file, or standard input for `-`. Faults are thrown as one CommandError with every diagnostic. */
export async function readJob(context: CommandContext, flags: ParsedFlags, path: string): Promise<ReadJob> {
  let bytes: Uint8Array;
  try {
    bytes = path === "-" ? await inputOf(context) : await readFile(resolve(context.cwd, path));
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(
      `Error getting job struct: cannot read ${JSON.stringify(path)}: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (bytes.length > MAX_JOB_FILE_BYTES)
    throw new CommandError(`Error getting job struct: ${path} is larger than ${MAX_JOB_FILE_BYTES} bytes`);
  const vars: Record<string, string> = {};
  for (const pair of flags.list("var")) {
    const equals = pair.indexOf("=");
    if (equals <= 0)
      throw new CommandError(`Error getting job struct: -var ${JSON.stringify(pair)} is not of the form name=value`);
    vars[pair.slice(0, equals)] = pair.slice(equals + 1);
  }
  const json = flags.bool("json");
  const parsed = parseJobFile(bytes, {
    filename: path,
    vars,
    varFiles: flags.list("var-file").map((file) => resolve(context.cwd, file)),
    env: context.env,
    strict: flags.has("hcl2-strict") ? flags.bool("hcl2-strict") : true,
    cwd: context.cwd,
    json,
  });
  if (parsed.job === undefined)
    throw new CommandError(`Error getting job struct: ${formatDiagnostics(parsed.diagnostics, bytes)}`);
  return {
    job: parsed.job,
    source: Buffer.from(bytes).toString("utf8"),
    format: json ? "json" : "hcl2",
    variableFlags: vars,
  };
}

async function inputOf(context: CommandContext): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of context.stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_JOB_FILE_BYTES)
      throw new CommandError(`Error getting job struct: standard input is larger than ${MAX_JOB_FILE_BYTES} bytes`);
  }
  return Buffer.concat(chunks);
}
