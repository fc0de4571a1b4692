/** Commands beside a task that is one process: in its folder, with its environment, as the plugin's user. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { onAbort, type Clock } from "@outrider/backoff";
import type { ExitResult, TerminalSize } from "@outrider/nomad-structs";
import type { ExecInput, ExecOutput, ExecRequest, ExecResult } from "../contract/driver.ts";
import { RecoverableError } from "../contract/errors.ts";

/** Where a command runs. */
export interface ExecPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** Gives a command a terminal. Part of util-linux. */
const SCRIPT = "/usr/bin/script";
/** So much output waits for a slow reader before the command is held up. */
const MAX_QUEUED_CHUNKS = 64;

function exitOf(code: number | null, name: NodeJS.Signals | null): ExitResult {
  const signal = name === null ? 0 : constants.signals[name];
  return { exitCode: code ?? 128 + signal, signal, oomKilled: false };
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

function start({ cwd, env }: ExecPlace, { command, tty }: ExecRequest): Promise<ChildProcess> {
  const [program = "", ...args] = tty
    ? [SCRIPT, "-qefc", `exec ${command.map(quoted).join(" ")}`, "/dev/null"]
    : command;
  if (tty && !existsSync(SCRIPT))
    throw new RecoverableError(`exec: a terminal needs ${SCRIPT}; try without one`, false);
  const shell = tty ? { SHELL: "/bin/sh" } : {};
  const child = spawn(program, args, {
    cwd,
    env: { ...env, ...shell },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A command that does not read its input is no failure.
  child.stdin.on("error", () => undefined);
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(child));
    child.once("error", (cause) => reject(new RecoverableError(`exec: ${cause.message}`, false, { cause })));
  });
}

function kill(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL");
  } catch {
    // gone in this moment
  }
}

/** Sets the size of the terminal that `script` has made for its child. */
function resize(child: ChildProcess, { height, width }: TerminalSize): void {
  try {
    const [inner] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
    if (inner === undefined || inner === "") return;
    const args = ["-F", `/proc/${inner}/fd/0`, "rows", String(height), "cols", String(width)];
    spawn("stty", args, { stdio: "ignore" }).on("error", () => undefined);
  } catch {
    // gone in this moment
  }
}

/** Runs a command to its end, or for `timeoutMs`; 0 = without limit. What it wrote is kept in memory. */
export async function execProcess(
  place: ExecPlace,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ExecResult> {
  const over = new AbortController();
  const timer = timeoutMs > 0 ? place.clock.setTimeout(() => over.abort(), timeoutMs) : undefined;
  const parts: { stdout: Uint8Array[]; stderr: Uint8Array[] } = { stdout: [], stderr: [] };
  let exitResult = exitOf(null, "SIGKILL");
  try {
    const noInput = (async function* (): AsyncGenerator<ExecInput> {
      yield { stdin: { close: true } };
    })();
    const run = execProcessStreaming(place, { command, tty: false }, noInput, AbortSignal.any([signal, over.signal]));
    for await (const { stdout, stderr, exited } of run) {
      if (stdout?.data !== undefined) parts.stdout.push(stdout.data);
      if (stderr?.data !== undefined) parts.stderr.push(stderr.data);
      exitResult = exited ?? exitResult;
    }
  } catch (reason) {
    // What came in time is the answer.
    if (!over.signal.aborted || signal.aborted) throw reason;
  } finally {
    place.clock.clearTimeout(timer);
  }
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr), exitResult };
}

/** Runs a command with its streams. Leaving the loop or aborting kills it. */
export async function* execProcessStreaming(
  place: ExecPlace,
  request: ExecRequest,
  input: AsyncIterable<ExecInput>,
  signal: AbortSignal,
): AsyncGenerator<ExecOutput> {
  signal.throwIfAborted();
  const child = await start(place, request);
  const queue: ExecOutput[] = [];
  let over = false;
  let wake: () => void = () => undefined;
  const push = (frame: ExecOutput): void => {
    queue.push(frame);
    if (queue.length >= MAX_QUEUED_CHUNKS) for (const stream of [child.stdout, child.stderr]) stream?.pause();
    wake();
  };
  child.stdout?.on("data", (data: Buffer) => push({ stdout: { data } }));
  child.stderr?.on("data", (data: Buffer) => push({ stderr: { data } }));
  // After both pipes have ended: nothing of the output may come behind the exit.
  child.once("close", (code, name) => {
    over = true;
    push({ exited: exitOf(code, name) });
  });
  const forget = onAbort(signal, () => {
    kill(child);
    wake();
  });
  const keyboard = input[Symbol.asyncIterator]();
  const pump = async (): Promise<void> => {
    while (!over) {
      const next = await keyboard.next();
      if (next.done === true) return;
      const { stdin, ttySize } = next.value;
      if (ttySize !== undefined && request.tty) resize(child, ttySize);
      if (stdin?.data !== undefined)
        await new Promise((resolve) => child.stdin?.write(stdin.data, resolve) ?? resolve(undefined));
      if (stdin?.close === true) child.stdin?.end();
    }
  };
  // The input may break off with the call: then its end is all there is to know.
  pump().catch(() => kill(child));
  try {
    for (;;) {
      signal.throwIfAborted();
      const frame = queue.shift();
      if (frame === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else {
        if (queue.length === 0) for (const stream of [child.stdout, child.stderr]) stream?.resume();
        yield frame;
        if (frame.exited !== undefined) return;
      }
    }
  } finally {
    forget();
    over = true;
    kill(child);
    child.stdout?.destroy();
    child.stderr?.destroy();
    void Promise.resolve(keyboard.return?.()).catch(() => undefined);
  }
}
