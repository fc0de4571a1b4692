/** Commands run beside a task: in its cgroup, folder and environment, as its user. */
import { type Clock, onAbort } from "@outrider/backoff";
import type { ExecInput, ExecOutput, ExecResult, ExitResult } from "@outrider/plugin-driver";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { unlinkQuietly } from "./files.ts";
import type { HostTools } from "./host-tools.ts";
import { kill } from "./identity.ts";
import { type SpecInput, specText } from "./spec.ts";

const SIGKILL = 9;
/** Output of a plain exec that is kept; the rest is read and dropped. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Chunks that wait for a slow reader before the command's output is held back. */
const MAX_QUEUED = 64;

/** How long output is read after the command has ended. */
const LINGER_MS = 500;

type Piped = ChildProcessByStdio<Writable, Readable, Readable>;

/** What an exec needs of its surroundings. */
export interface ExecHost {
  readonly tools: HostTools;
  /** A private folder for the spec while the command starts. */
  readonly folder: string;
  readonly clock: Clock;
}

/** Runs a command and collects its output. `timeoutMs` 0 = no limit; after the limit it is killed and what it wrote is returned. */
export async function execCollect(
  input: SpecInput,
  timeoutMs: number,
  host: ExecHost,
  signal?: AbortSignal,
): Promise<ExecResult> {
  signal?.throwIfAborted();
  const child = start(input, host);
  child.stdin.end();
  const timer = timeoutMs > 0 ? host.clock.setTimeout(() => killSession(child), timeoutMs) : undefined;
  const forget = signal === undefined ? undefined : onAbort(signal, () => killSession(child));
  try {
    const [stdout, stderr, exitResult] = await Promise.all([
      collect(child.stdout),
      collect(child.stderr),
      ended(child),
    ]);
    signal?.throwIfAborted();
    return { stdout, stderr, exitResult };
  } finally {
    host.clock.clearTimeout(timer);
    forget?.();
  }
}

/** Runs a command with its streams connected: data, the end of each stream, then the result as the last message. */
export async function* execStream(
  input: SpecInput,
  frames: AsyncIterable<ExecInput>,
  host: ExecHost,
  signal: AbortSignal,
): AsyncGenerator<ExecOutput> {
  signal.throwIfAborted();
  const child = start(input, host);
  const forget = onAbort(signal, () => killSession(child));
  const queue = new FrameQueue();
  void feed(child, frames);
  const result = ended(child);
  const streams = [pump(child.stdout, "stdout", queue), pump(child.stderr, "stderr", queue)];
  void Promise.all(streams).then(async () => queue.finish(await result));
  try {
    yield* queue.frames();
    signal.throwIfAborted();
  } finally {
    forget();
    killSession(child);
  }
}

function start(input: SpecInput, { tools, folder, clock }: ExecHost): Piped {
  const spec = join(folder, `exec-${randomBytes(8).toString("hex")}`);
  writeFileSync(spec, specText(input, { ...tools, shellIsBash: false }), { mode: 0o600, flag: "wx" });
  const child = spawn(tools.shell, ["-c", `. "$0"`, spec], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // the shell has read it once the command writes, ends, or this much later
  const clean = (): void => unlinkQuietly(spec);
  child.once("exit", () => {
    clean();
    // a daemon that the command left behind may hold its streams open for ever
    clock.setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), LINGER_MS);
  });
  child.once("error", clean);
  child.stdin.on("error", () => undefined);
  return child;
}

/** The command leads a session of its own once it runs; until then only the shell is there. */
function killSession(child: Piped): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    kill(-child.pid, SIGKILL);
  } catch {
    // members of another user
  }
  child.kill("SIGKILL");
}

async function ended(child: Piped): Promise<ExitResult> {
  const failed = once(child, "error").then(([reason]) => Promise.reject(reason as Error));
  failed.catch(() => undefined);
  const [code, name] = (await Promise.race([once(child, "exit"), failed])) as [number | null, NodeJS.Signals | null];
  const signal = name === null ? 0 : constants.signals[name];
  return { exitCode: code ?? 128 + signal, signal, oomKilled: false };
}

async function collect(stream: Readable): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (size < MAX_OUTPUT_BYTES) chunks.push(chunk.subarray(0, MAX_OUTPUT_BYTES - size));
      size += chunk.length;
    }
  } catch {
    // destroyed: somebody else still holds it
  }
  return Buffer.concat(chunks);
}

/** Feeds frames to the command's input. The caller may never end its side. */
async function feed(child: Piped, frames: AsyncIterable<ExecInput>): Promise<void> {
  try {
    for await (const { stdin } of frames) {
      if (stdin === undefined || child.stdin.destroyed) continue;
      if (stdin.data !== undefined && stdin.data.length > 0 && !child.stdin.write(stdin.data)) {
        await Promise.race([once(child.stdin, "drain"), once(child, "exit")]);
      }
      if (stdin.close === true) child.stdin.end();
    }
  } catch {
    // the caller's side broke: the signal ends the command
  }
}

async function pump(stream: Readable, name: "stdout" | "stderr", queue: FrameQueue): Promise<void> {
  try {
    for await (const data of stream as AsyncIterable<Buffer>) await queue.put({ [name]: { data } });
  } catch {
    // destroyed with the command
  }
  await queue.put({ [name]: { close: true } });
}

/** Frames between producers and one consumer; producers wait when it is slow. */
class FrameQueue {
  readonly #frames: ExecOutput[] = [];
  #finished = false;
  #wakeConsumer: (() => void) | undefined;
  #wakeProducers: Array<() => void> = [];

  async put(frame: ExecOutput): Promise<void> {
    this.#frames.push(frame);
    this.#wakeConsumer?.();
    if (this.#frames.length >= MAX_QUEUED && !this.#finished) {
      await new Promise<void>((resolve) => this.#wakeProducers.push(resolve));
    }
  }

  finish(exited: ExitResult): void {
    this.#frames.push({ exited });
    this.#finished = true;
    this.#wakeConsumer?.();
  }

  async *frames(): AsyncGenerator<ExecOutput> {
    try {
      for (;;) {
        const frame = this.#frames.shift();
        if (frame !== undefined) {
          yield frame;
          if (frame.exited !== undefined) return;
          continue;
        }
        for (const wake of this.#wakeProducers.splice(0)) wake();
        await new Promise<void>((resolve) => (this.#wakeConsumer = resolve));
      }
    } finally {
      this.#finished = true;
      for (const wake of this.#wakeProducers.splice(0)) wake();
    }
  }
}
