/** Commands run beside a task: in its cgroup, folder and environment, as its user. */
import { onAbort } from "@outrider/backoff";
import type { ExecInput, ExecOutput, ExecResult } from "@outrider/plugin-driver";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { FrameQueue } from "./exec-frames.ts";
import { ended, type ExecHost, killSession, removeAfter, SHELL_ENV, writeSpec } from "./exec-process.ts";
import type { SpecInput } from "./spec.ts";

/** Output of a plain exec that is kept; the rest is read and dropped. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** How long output is read after the command has ended. */
const LINGER_MS = 500;

type Piped = ChildProcessByStdio<Writable, Readable, Readable>;

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
  void Promise.all([result, ...streams]).then(
    ([exit]) => queue.finish(exit),
    (reason: unknown) => queue.fail(reason),
  );
  try {
    yield* queue.frames();
    signal.throwIfAborted();
  } finally {
    forget();
    killSession(child);
  }
}

function start(input: SpecInput, host: ExecHost): Piped {
  const spec = writeSpec(input, host);
  const child = spawn(host.tools.shell, ["-c", `. "$0"`, spec], {
    cwd: "/",
    env: SHELL_ENV,
    stdio: ["pipe", "pipe", "pipe"],
  });
  removeAfter(child, spec);
  child.once("exit", () => {
    // a daemon that the command left behind may hold its streams open for ever
    host.clock.setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), LINGER_MS);
  });
  child.stdin.on("error", () => undefined);
  return child;
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
