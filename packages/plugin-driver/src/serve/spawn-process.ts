/** A task that is one command: started so that it outlives the plugin, and found again with its exit code. */
import { spawn } from "node:child_process";
import { constants as osConstants } from "node:os";
import { constants, readFileSync, rmSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { sleep, systemClock, type Clock } from "@outrider/backoff";
import type { ExitResult } from "@outrider/nomad-structs";
import type { TaskConfig } from "../contract/driver.ts";
import { RecoverableError } from "../contract/errors.ts";
import type { RecoveredTask, RunningTask } from "../define/driver-definition.ts";
import { execProcess, execProcessStreaming } from "./process-exec.ts";
import { processStats } from "./process-stats.ts";
import { isAlive, type ProcessIdentity, processIdentity, signalProcess } from "../process/process-identity.ts";

/** Kept by the agent for a task of {@link spawnProcess}. @public */
export interface ProcessState {
  /** File that gets the exit code. */
  readonly record: string;
}

/** What to run. @public */
export interface SpawnProcessOptions {
  /** An absolute path. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Default: the task's folder. */
  readonly cwd?: string;
  /** Default: the environment that the agent gave. */
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

const POLL_MS = 100;
const DEFAULT_SIGNAL = "SIGINT";
/**
 * Waits for the command and leaves its exit code in a file, since nobody else can learn it once the plugin was restarted. Signals go
 * to the whole group: `trap :` lets this shell live on, and the command, unlike with an ignored signal, starts with the defaults.
 */
const SUPERVISOR = `trap : HUP INT QUIT USR1 USR2 TERM
r=$1; shift
"$@"
c=$?
printf '%s\\n' "$c" >"$r.tmp" && mv -f "$r.tmp" "$r"
exit "$c"`;

/** Opens a fifo for writing without ever waiting for its reader, and without leaving the task a non-blocking descriptor. */
async function openOutput(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW;
  if (path === "" || path === "/dev/null") return open("/dev/null", constants.O_WRONLY);
  let probe: FileHandle;
  try {
    probe = await open(path, flags | constants.O_NONBLOCK);
  } catch (reason) {
    throw new RecoverableError(`start task: output ${path} cannot be opened`, true, { cause: reason });
  }
  try {
    return await open(path, flags);
  } finally {
    await probe.close();
  }
}

function exitOf(code: number): ExitResult {
  // A shell says 128 + n for a signal; a command that exits with such a code itself looks the same.
  return { exitCode: code, signal: code > 128 && code <= 192 ? code - 128 : 0, oomKilled: false };
}

function recorded(record: string): ExitResult | undefined {
  try {
    const text = readFileSync(record, "utf8");
    return /^\d+\n$/.test(text) ? exitOf(Number(text)) : undefined;
  } catch {
    return undefined;
  }
}

function checkSignal(name: string): NodeJS.Signals {
  if (Object.hasOwn(osConstants.signals, name)) return name as NodeJS.Signals;
  throw new RecoverableError(`unknown signal ${name}`, false);
}

const folderOf = (config: TaskConfig): string => join(config.allocDir, config.name);
const envOf = (config: TaskConfig): Record<string, string> => ({ ...config.deviceEnv, ...config.env });

function runningProcess(
  record: string,
  identity: ProcessIdentity | undefined,
  config: TaskConfig,
  clock: Clock,
): RunningTask<ProcessState> {
  const place = { cwd: folderOf(config), env: envOf(config), clock };
  /** The last signal of a stop. */
  let ending: NodeJS.Signals | undefined;
  const alive = (): boolean => identity !== undefined && isAlive(identity);
  const end = (): ExitResult | undefined => {
    const before = recorded(record);
    if (before !== undefined || alive()) return before;
    // The record comes before the end of its writer: look again now that there is none.
    const after = recorded(record);
    if (after !== undefined) return after;
    // A shell that was ended before it could trap the signal, or by SIGKILL, leaves no record.
    if (ending !== undefined) return exitOf(128 + osConstants.signals[ending]);
    return { exitCode: -1, signal: 0, oomKilled: false, error: "the process ended without a recorded exit code" };
  };
  const gone = async (timeoutMs: number): Promise<boolean> => {
    const until = clock.monotonic() + timeoutMs;
    while (end() === undefined) {
      const left = until - clock.monotonic();
      if (left <= 0) return false;
      await sleep(Math.min(POLL_MS, left), { clock });
    }
    return true;
  };
  const send = (name: NodeJS.Signals): void => {
    if (identity !== undefined) signalProcess(identity, name, { group: true });
  };
  return {
    state: { record },
    ...(identity === undefined ? {} : { pid: identity.pid }),
    async wait(signal) {
      for (;;) {
        const result = end();
        if (result !== undefined) return result;
        await sleep(POLL_MS, { clock, signal });
      }
    },
    async stop(timeoutMs, signalName) {
      const name = checkSignal(signalName === "" ? DEFAULT_SIGNAL : signalName);
      if (timeoutMs > 0) {
        ending = name;
        send(name);
        if (await gone(timeoutMs)) return;
      }
      ending = "SIGKILL";
      send("SIGKILL");
      await gone(Number.MAX_SAFE_INTEGER);
    },
    signal: (signalName) => Promise.resolve(send(checkSignal(signalName))),
    destroy: () => Promise.resolve(rmSync(record, { force: true })),
    async *stats(intervalMs, signal) {
      if (identity !== undefined) yield* processStats(identity, intervalMs, signal, clock);
    },
    exec: (command, timeoutMs, signal) => execProcess(place, command, timeoutMs, signal),
    execStreaming: (request, input, signal) => execProcessStreaming(place, request, input, signal),
    attributes: () => ({ pid: String(identity?.pid ?? "") }),
  };
}

/**
 * Starts one command as a task: its own session, output into the agent's fifos, exit code kept for the time after a restart of the plugin.
 * Statistics, signals and exec (with a terminal where script(1) is) come with it; say `exec: true` in the driver's capabilities. Needs `/bin/sh` and `/proc`.
 * @throws {@link RecoverableError}
 * @public
 */
export async function spawnProcess(config: TaskConfig, o: SpawnProcessOptions): Promise<RunningTask<ProcessState>> {
  const { clock = systemClock, args = [], env = envOf(config) } = o;
  if (!isAbsolute(o.command)) throw new RecoverableError(`start task: command ${o.command} is no absolute path`, false);
  const folder = folderOf(config);
  const record = join(folder, `.exit-${config.id.split("/").at(-1)}`);
  const outputs: FileHandle[] = [];
  try {
    for (const path of [config.stdoutPath, config.stderrPath]) outputs.push(await openOutput(path));
    const [out, err] = outputs.map(({ fd }) => fd);
    // What an earlier run of the same id left would be taken for the end of this one.
    rmSync(record, { force: true });
    const child = spawn("/bin/sh", ["-c", SUPERVISOR, "sh", record, o.command, ...args], {
      cwd: o.cwd ?? folder,
      env,
      detached: true,
      stdio: ["ignore", out, err],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => reject(new RecoverableError(`start task: ${cause.message}`, true, { cause })));
    });
    child.unref();
    return runningProcess(record, child.pid === undefined ? undefined : processIdentity(child.pid), config, clock);
  } finally {
    for (const output of outputs) await output.close();
  }
}

/**
 * Finds a task of {@link spawnProcess} again, running or ended.
 * @public
 */
export function recoverProcess(task: RecoveredTask<ProcessState>): Promise<RunningTask<ProcessState>> {
  const record: unknown = (task.state as Partial<ProcessState> | null)?.record;
  if (typeof record !== "string") {
    return Promise.reject(new RecoverableError("recover task: the state names no exit record", false));
  }
  return Promise.resolve(runningProcess(record, task.process, task.config, systemClock));
}
