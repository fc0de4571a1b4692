/** The spec: shell text that the forked child of the shim sources, and which ends in the task's command. */
import { isExportable, quote, quoteAll } from "./shell-words.ts";
import type { HostTools } from "./host-tools.ts";

/** Who the task runs as. */
export interface TaskIdentity {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

/** What the spec is made of. All texts are free of NUL. */
export interface SpecInput {
  /** `cgroup.procs` files that the child writes itself into, one per hierarchy. */
  readonly cgroupProcs: readonly string[];
  /** -1000…1000; `undefined` = inherited. */
  readonly oomScoreAdj?: number;
  readonly workDir: string;
  /** Options of prlimit(1), before the user is changed: `--nofile=1024:4096`. */
  readonly limits?: readonly string[];
  /** Octal. */
  readonly umask?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user?: TaskIdentity;
  /** Absolute path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  /** The command's shell leads a session with a terminal already: none is made for it. */
  readonly inTerminal?: boolean;
}

/** File mode mask of a task that does not say. */
const UMASK = "022";

/** Writes the spec. A step that fails before the command ends the child with 125, after a line on the task's stderr. */
export function specText(input: SpecInput, tools: HostTools): string {
  const lines: string[] = [];
  for (const path of input.cgroupProcs) lines.push(`echo 0 >${quote(path)} || exit 125`);
  if (input.oomScoreAdj !== undefined) lines.push(`echo ${input.oomScoreAdj} >/proc/self/oom_score_adj || exit 125`);
  lines.push(`umask ${input.umask ?? UMASK}`, `cd ${quote(input.workDir)} || exit 125`);
  lines.push("unset PWD OLDPWD SHLVL");
  if (input.env["PATH"] === undefined) lines.push("unset PATH");
  const asArguments: string[] = [];
  for (const [name, value] of Object.entries(input.env)) {
    if (isExportable(name)) lines.push(`export ${name}=${quote(value)}`);
    else asArguments.push(`${name}=${value}`);
  }
  lines.push(`exec ${quoteAll(commandLine(input, tools, asArguments))}`, "");
  return lines.join("\n");
}

function commandLine(input: SpecInput, tools: HostTools, variables: readonly string[]): string[] {
  const words: string[] = [];
  if (input.limits !== undefined && input.limits.length > 0) words.push(tools.prlimit, ...input.limits);
  if (input.user !== undefined) {
    const { uid, gid, name } = input.user;
    words.push(tools.setpriv, "--reuid", String(uid), "--regid", String(gid));
    // a bare number has no entry to take further groups from
    words.push(...(name === "" ? ["--clear-groups"] : ["--init-groups"]));
  }
  // -u _: bash puts the path of each command there
  words.push(tools.env, "--default-signal", ...(input.env["_"] === undefined ? ["-u", "_"] : []), "--", ...variables);
  // a shell with job control has made its child the leader of a group already; setsid would then fork
  if (!tools.shellIsBash && input.inTerminal !== true) words.push(tools.setsid);
  words.push(input.program, ...input.args);
  return words;
}
