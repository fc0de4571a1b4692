/** The host programs that start a task, found and tried once. */
import { OutriderError } from "@outrider/foundation";
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";

/** Absolute paths of helpers. */
export interface HostTools {
  readonly shell: string;
  /** `/bin/sh` is bash: the shim uses its job control. */
  readonly shellIsBash: boolean;
  /** GNU env, for `--default-signal`. */
  readonly env: string;
  readonly setsid: string;
  /** "" = tasks cannot run as another user. */
  readonly setpriv: string;
  /** "" = tasks cannot have limits of their own. The shell's `ulimit` counts in units that differ from shell to shell. */
  readonly prlimit: string;
}

/** Where helpers of this machine are looked for. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** An executable regular file of that name on a search path. */
export function findOnPath(name: string, path: string): string | undefined {
  for (const folder of path.split(":")) {
    if (!folder.startsWith("/")) continue;
    const candidate = join(folder, name);
    if (isExecutableFile(candidate)) return candidate;
  }
  return undefined;
}

/** Whether this process could run the file. */
export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds the helpers.
 * @throws OutriderError `ERR_OUTRIDER_DRIVER_HOST_TOOLS` naming the one that is missing
 */
export function findHostTools(): HostTools {
  const shell = "/bin/sh";
  const probe = spawnSync(shell, ["-c", 'printf %s "${BASH_VERSION-}"'], { encoding: "utf8" });
  if (probe.status !== 0) throw missing("/bin/sh", "a POSIX shell");
  const env = findOnPath("env", SYSTEM_PATH);
  if (env === undefined || spawnSync(env, ["--default-signal", "--", "true"], { stdio: "ignore" }).status !== 0) {
    throw missing("env", "GNU coreutils 8.31 or newer (`env --default-signal`)");
  }
  const setsid = findOnPath("setsid", SYSTEM_PATH);
  if (setsid === undefined) throw missing("setsid", "util-linux");
  return {
    shell,
    shellIsBash: probe.stdout !== "",
    env,
    setsid,
    setpriv: findSetpriv(),
    prlimit: findOnPath("prlimit", SYSTEM_PATH) ?? "",
  };
}

function findSetpriv(): string {
  const path = findOnPath("setpriv", SYSTEM_PATH);
  if (path === undefined) return "";
  const help = spawnSync(path, ["--help"], { encoding: "utf8" });
  return help.stdout?.includes("--reuid") === true ? path : "";
}

function missing(tool: string, need: string): OutriderError {
  return new OutriderError(
    "ERR_OUTRIDER_DRIVER_HOST_TOOLS",
    `process driver: ${tool} is missing or too old: install ${need}`,
    {
      details: { tool, need },
    },
  );
}
