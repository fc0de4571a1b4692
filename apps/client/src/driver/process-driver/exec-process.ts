/** What every kind of exec does with its process: a spec file while it starts, the end, and ending it by force. */
import type { Clock } from "@outrider/backoff";
import type { ExitResult } from "@outrider/plugin-driver";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { unlinkQuietly } from "./files.ts";
import type { HostTools } from "./host-tools.ts";
import { kill, readProcStat } from "./identity.ts";
import { type SpecInput, specText } from "./spec.ts";

const SIGKILL = 9;

/** What an exec needs of its surroundings. */
export interface ExecHost {
  readonly tools: HostTools;
  /** A private folder for the spec while the command starts. */
  readonly folder: string;
  readonly clock: Clock;
}

/** The only variable that the shell gets before it reads the spec. */
export const SHELL_ENV = { PATH: "/usr/bin:/bin" };

/** Writes the spec of a command and gives its path; {@link removeAfter} takes it away. */
export function writeSpec(input: SpecInput, { tools, folder }: ExecHost): string {
  const path = join(folder, `exec-${randomBytes(8).toString("hex")}`);
  writeFileSync(path, specText(input, { ...tools, shellIsBash: false }), { mode: 0o600, flag: "wx" });
  return path;
}

/** Removes the spec when the process has ended or could not be started: it has been read by then. */
export function removeAfter(child: ChildProcess, spec: string): void {
  const clean = (): void => unlinkQuietly(spec);
  child.once("exit", clean);
  child.once("error", clean);
}

/** The exit of a process; rejects when it could not be started. */
export async function ended(child: ChildProcess): Promise<ExitResult> {
  const failed = once(child, "error").then(([reason]) => Promise.reject(reason as Error));
  failed.catch(() => undefined);
  const [code, name] = (await Promise.race([once(child, "exit"), failed])) as [number | null, NodeJS.Signals | null];
  const signal = name === null ? 0 : constants.signals[name];
  return { exitCode: code ?? 128 + signal, signal, oomKilled: false };
}

/**
 * Ends a command and everything in its session, also jobs that a shell has put into groups of their own. The process has not been waited for,
 * so its pid cannot mean another. Before the command leads a session only the shell is there.
 */
export function killSession(child: ChildProcess, leader = child.pid): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  if (leader !== undefined) for (const pid of membersOf(leader)) quietly(() => kill(pid, SIGKILL));
  child.kill("SIGKILL");
}

function membersOf(session: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^[1-9][0-9]*$/.test(name))
    .map(Number)
    .filter((pid) => pid > 1 && readProcStat(pid)?.session === session);
}

function quietly(action: () => unknown): void {
  try {
    action();
  } catch {
    // of another user
  }
}
