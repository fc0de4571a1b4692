/** A command on a terminal of its own: by openpty where koffi is installed, else by script(1). */
import { type Clock, sleep } from "@outrider/backoff";
import { RecoverableError, type TerminalSize } from "@outrider/plugin-driver";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { ReadStream } from "node:tty";
import { errnoOf, listNames } from "./files.ts";
import { type ExecHost, killSession, removeAfter, SHELL_ENV, writeSpec } from "./exec-process.ts";
import { findOnPath, SYSTEM_PATH } from "./host-tools.ts";
import { readProcStat } from "./identity.ts";
import { loadNativePtys, type NativePtys } from "./pty-native.ts";
import { quoteAll } from "./shell-words.ts";
import type { SpecInput } from "./spec.ts";

/** How terminals are made on this machine. */
export type TerminalWay = "openpty" | "script" | "none";

/** A running command with its terminal. */
export interface TerminalCommand {
  /** Its exit is the command's. */
  readonly child: ChildProcess;
  readonly output: Readable;
  write(data: Uint8Array): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  /** After the exit: what has not been read yet. Releases the terminal. */
  takeRest(this: void): Buffer[];
  kill(): void;
}

/** How to start on one. */
export interface TerminalOptions {
  /** Default: the best that there is. */
  readonly way?: TerminalWay | undefined;
  /** Default: none, which programs see as 0 by 0. */
  readonly size?: TerminalSize | undefined;
}

/** What a program on a terminal may rely on when the task does not say. */
export const DEFAULT_TERM = "xterm";

/** A keyboard that a program does not read holds its keys back; so much later it is tried again. */
const WRITE_RETRY_MS = 10;
/** The kernel keeps less than this for a reader. */
const MAX_REST_BYTES = 1024 * 1024;
const FIND_CHILD_MS = 1_000;

let native: NativePtys | null | undefined;

function nativePtys(): NativePtys | undefined {
  if (native === undefined) native = loadNativePtys() ?? null;
  return native ?? undefined;
}

/** Which way there is; found once. */
export function terminalWay(): TerminalWay {
  if (nativePtys() !== undefined) return "openpty";
  return findOnPath("script", SYSTEM_PATH) === undefined ? "none" : "script";
}

/**
 * Starts a command on a new terminal.
 * @throws RecoverableError (not recoverable) when this machine offers no way to make one
 */
export function startOnTerminal(input: SpecInput, host: ExecHost, o: TerminalOptions = {}): TerminalCommand {
  const { way = terminalWay(), size } = o;
  const inTerminal: SpecInput = { ...input, inTerminal: true, env: { TERM: DEFAULT_TERM, ...input.env } };
  if (way === "openpty") return onNativePty(inTerminal, host, nativePtys() as NativePtys, size);
  if (way === "script") return onScript(inTerminal, host, size);
  throw new RecoverableError(
    "exec: no terminal can be made here: install koffi (npm) or script of util-linux, or run without one (-t=false)",
    false,
  );
}

function onNativePty(
  input: SpecInput,
  host: ExecHost,
  ptys: NativePtys,
  size: TerminalSize | undefined,
): TerminalCommand {
  const pty = ptys.open(input.user?.uid);
  if (size !== undefined) pty.resize(size.height, size.width);
  const output = new ReadStream(pty.master);
  // the end of a terminal is an error of its reader
  output.on("error", () => undefined);
  const spec = writeSpec(input, host);
  // the leader of a session gets the first terminal that it opens
  const script = `exec <"$0" >"$0" 2>&1; . "$1"`;
  const child = spawn(host.tools.shell, ["-c", script, pty.slavePath, spec], {
    cwd: "/",
    env: SHELL_ENV,
    detached: true,
    stdio: "ignore",
  });
  removeAfter(child, spec);
  const gone = new AbortController();
  child.once("exit", () => gone.abort());
  child.once("error", () => gone.abort());
  return {
    child,
    output,
    write: (data) => writeAll(pty.master, data, host.clock, gone.signal),
    resize: async ({ height, width }) => {
      if (!gone.signal.aborted) pty.resize(height, width);
    },
    takeRest() {
      const rest = takeAll(output, pty.master);
      pty.closeSlave();
      output.destroy();
      return rest;
    },
    kill: () => killSession(child),
  };
}

/** Without waiting: the stream's buffer, then what the kernel holds. As long as the other end is open here, nothing is cut off. */
function takeAll(output: ReadStream, master: number): Buffer[] {
  output.removeAllListeners("data");
  output.pause();
  const rest: Buffer[] = [];
  let chunk = output.read() as Buffer | null;
  while (chunk !== null) {
    rest.push(chunk);
    chunk = output.read() as Buffer | null;
  }
  for (let total = 0; total < MAX_REST_BYTES;) {
    const piece = Buffer.alloc(65_536);
    try {
      const length = readSync(master, piece, 0, piece.length, null);
      if (length === 0) break;
      rest.push(piece.subarray(0, length));
      total += length;
    } catch {
      // nothing more, or nobody on the other end
      break;
    }
  }
  return rest;
}

async function writeAll(fd: number, data: Uint8Array, clock: Clock, gone: AbortSignal): Promise<void> {
  for (let at = 0; at < data.length && !gone.aborted;) {
    try {
      at += writeSync(fd, data, at);
    } catch (reason) {
      if (errnoOf(reason) !== "EAGAIN") return;
      await sleep(WRITE_RETRY_MS, { clock, signal: gone }).catch(() => undefined);
    }
  }
}

function onScript(input: SpecInput, host: ExecHost, size: TerminalSize | undefined): TerminalCommand {
  const spec = writeSpec(input, host);
  const sized = size === undefined ? "" : `stty rows ${size.height} cols ${size.width}; `;
  const command = `${sized}exec ${quoteAll([host.tools.shell, "-c", `. "$0"`, spec])}`;
  const child = spawn(findOnPath("script", SYSTEM_PATH) as string, ["-q", "-e", "-f", "-c", command, "/dev/null"], {
    cwd: "/",
    env: { ...SHELL_ENV, SHELL: host.tools.shell },
    stdio: ["pipe", "pipe", "ignore"],
  });
  removeAfter(child, spec);
  child.stdin.on("error", () => undefined);
  child.stdout.on("error", () => undefined);
  return {
    child,
    output: child.stdout,
    write: (data) =>
      new Promise((resolve) => {
        if (child.stdin.write(data)) return resolve();
        child.stdin.once("drain", resolve);
        child.once("exit", () => resolve());
      }),
    resize: async ({ height, width }) => {
      const leader = await findLeader(child, host.clock);
      const stty = findOnPath("stty", SYSTEM_PATH);
      if (leader === undefined || stty === undefined) return;
      spawnSync(stty, ["-F", `/proc/${leader}/fd/0`, "rows", String(height), "cols", String(width)], {
        stdio: "ignore",
      });
    },
    // a pipe ends with its writers, and is read to its end
    takeRest: () => [],
    kill: () => killSession(child, leaderOf(child)),
  };
}

async function findLeader(child: ChildProcess, clock: Clock): Promise<number | undefined> {
  for (let waited = 0; waited < FIND_CHILD_MS && child.exitCode === null && child.signalCode === null; waited += 10) {
    const leader = leaderOf(child);
    if (leader !== undefined) return leader;
    await sleep(10, { clock });
  }
  return undefined;
}

/** The process that script(1) has started: the leader of the session on the new terminal. */
function leaderOf({ pid }: ChildProcess): number | undefined {
  return listNames("/proc")
    .map(Number)
    .find((candidate) => {
      if (!Number.isInteger(candidate)) return false;
      const stat = readProcStat(candidate);
      return stat?.parent === pid && stat?.session === candidate;
    });
}
