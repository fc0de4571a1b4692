/** Everything about a task's command that can be checked before a process is made. */
import { RecoverableError, type TaskConfig } from "@outrider/plugin-driver";
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import type { CgroupMounts } from "./cgroup-mounts.ts";
import { checkSizes, resolveCommand, withoutDenied } from "./command.ts";
import type { HostTools } from "./host-tools.ts";
import { MARKER } from "./group.ts";
import type { TaskIdentity } from "./spec.ts";
import { decodeSettings, type TaskSettings } from "./task-settings.ts";
import { findUser } from "./users.ts";

/** A command that can be run. */
export interface LaunchCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workDir: string;
  readonly user?: TaskIdentity;
  readonly oomScoreAdj?: number;
  /** Options of prlimit(1). */
  readonly limits: readonly string[];
  readonly umask?: string;
  /** `cgroup.procs` of cgroups that the job names itself; the driver then makes none. */
  readonly ownCgroups: readonly string[];
}

/** Facts about this machine. */
export interface LaunchHost {
  readonly tools: HostTools;
  readonly cgroups: CgroupMounts;
  readonly searchPath: string;
}

/**
 * Checks a task's configuration.
 * @throws RecoverableError (not recoverable) naming what is wrong
 */
export async function planLaunch(config: TaskConfig, host: LaunchHost, signal?: AbortSignal): Promise<LaunchCommand> {
  for (const [field, value] of Object.entries({ id: config.id, name: config.name, allocDir: config.allocDir })) {
    if (value === "" || value.includes("\0"))
      throw new RecoverableError(`task config: ${field} ${JSON.stringify(value)} is not usable`, false);
  }
  const settings = decodeSettings(config.msgpackDriverConfig);
  const user = await taskUser(config.user, host.tools, signal);
  const env = taskEnv(config, settings, user);
  const taskDir = join(config.allocDir, config.name);
  const program = resolveCommand(settings.command, taskDir, env["PATH"] ?? host.searchPath);
  const workDir = settings.workDir === "" ? taskDir : settings.workDir;
  if (statSync(workDir, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new RecoverableError(
      `failed to launch command: work folder ${JSON.stringify(workDir)} does not exist`,
      false,
    );
  }
  checkSizes([program, ...settings.args], { ...env, [MARKER]: config.id });
  return {
    program,
    args: settings.args,
    env,
    workDir,
    ...(user === undefined ? {} : { user }),
    ...(settings.oomScoreAdj === undefined ? {} : { oomScoreAdj: settings.oomScoreAdj }),
    ...bounds(settings, host.tools),
    ownCgroups: ownCgroups(settings, host.cgroups),
  };
}

/** Limits and mask of the processes of a task, those of an exec beside it included. */
export function bounds(
  { limits, umask }: Pick<TaskSettings, "limits" | "umask">,
  { prlimit }: HostTools,
): Pick<LaunchCommand, "limits" | "umask"> {
  const options = Object.entries(limits).map(([name, limit]) => `--${name}=${limit}`);
  if (options.length > 0 && prlimit === "")
    throw new RecoverableError("raw_exec config: ulimit: prlimit of util-linux is not installed", false);
  return { limits: options, ...(umask === "" ? {} : { umask }) };
}

/** The user to switch to; none when it is the driver's own. */
export async function taskUser(
  name: string,
  tools: HostTools,
  signal?: AbortSignal,
): Promise<TaskIdentity | undefined> {
  if (name === "") return undefined;
  const user = await findUser(name, signal);
  const own = process.getuid?.();
  if (user.uid === own) return undefined;
  if (own !== 0)
    throw new RecoverableError(`cannot run a task as ${JSON.stringify(name)}: the agent does not run as root`, false);
  if (tools.setpriv === "") {
    throw new RecoverableError(
      `cannot run a task as ${JSON.stringify(name)}: setpriv of util-linux is not installed`,
      false,
    );
  }
  return user;
}

function taskEnv(config: TaskConfig, settings: TaskSettings, user: TaskIdentity | undefined): Record<string, string> {
  const env = withoutDenied({ ...config.env, ...config.deviceEnv }, settings.deniedEnv);
  if (user === undefined) return { ...env };
  return { ...env, HOME: user.home, ...(user.name === "" ? {} : { USER: user.name, LOGNAME: user.name }) };
}

function ownCgroups(settings: TaskSettings, cgroups: CgroupMounts): string[] {
  const found: string[] = [];
  for (const [controller, path] of Object.entries(settings.cgroupV1)) {
    const mount = cgroups.controllers[controller];
    if (mount === undefined)
      throw new RecoverableError(
        `raw_exec config: cgroup_v1_override: no hierarchy of ${JSON.stringify(controller)} here`,
        false,
      );
    found.push(join(mount, path, "cgroup.procs"));
  }
  if (settings.cgroupV2 !== "") {
    if (cgroups.unified === undefined)
      throw new RecoverableError("raw_exec config: cgroup_v2_override: no unified hierarchy here", false);
    found.push(join(cgroups.unified, settings.cgroupV2, "cgroup.procs"));
  }
  for (const path of found) {
    try {
      accessSync(path, constants.W_OK);
    } catch (reason) {
      throw new RecoverableError(`raw_exec config: cgroup ${JSON.stringify(path)} cannot be joined`, false, {
        cause: reason,
      });
    }
  }
  return found;
}
