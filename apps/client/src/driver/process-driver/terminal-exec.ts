/** An interactive exec: a command on a terminal of its own. */
import { onAbort, sleep } from "@outrider/backoff";
import type { ExecInput, ExecOutput } from "@outrider/plugin-driver";
import { once } from "node:events";
import { FrameQueue } from "./exec-frames.ts";
import { ended, type ExecHost } from "./exec-process.ts";
import type { SpecInput } from "./spec.ts";
import { startOnTerminal, type TerminalCommand, type TerminalWay } from "./terminal.ts";

/** The user's terminal tells its size first; a command that starts so much later finds it set. */
const FIRST_SIZE_MS = 50;
/** ^D, which the terminal turns into the end of the input. */
const END_OF_INPUT = 4;
const NEWLINES = [10, 13];

/** Runs a command on a terminal. All its output is `stdout`; the end of the input becomes ^D. */
export async function* execOnTerminal(
  input: SpecInput,
  frames: AsyncIterable<ExecInput>,
  host: ExecHost,
  signal: AbortSignal,
  way?: TerminalWay,
): AsyncGenerator<ExecOutput> {
  signal.throwIfAborted();
  const keyboard = frames[Symbol.asyncIterator]();
  let next = keyboard.next();
  const patience = sleep(FIRST_SIZE_MS, { clock: host.clock, signal });
  const first = await Promise.race([next.catch(() => undefined), patience]);
  const terminal = startOnTerminal(input, host, { way, size: first?.value?.ttySize });
  const forget = onAbort(signal, () => terminal.kill());
  const queue = new FrameQueue();
  void type(terminal, async () => {
    const frame = await next;
    next = keyboard.next();
    next.catch(() => undefined);
    return frame;
  });
  void show(terminal, queue);
  try {
    for await (const frame of queue.frames()) {
      signal.throwIfAborted();
      yield frame;
    }
    signal.throwIfAborted();
  } finally {
    forget();
    terminal.kill();
  }
}

/** Keys and sizes, in the order in which they come. The caller may never end its side. */
async function type(terminal: TerminalCommand, read: () => Promise<IteratorResult<ExecInput>>): Promise<void> {
  let last = NEWLINES[0];
  try {
    for (;;) {
      const { done, value } = await read();
      if (done === true) return;
      const { ttySize, stdin } = value;
      if (ttySize !== undefined) await terminal.resize(ttySize);
      if (stdin?.data !== undefined && stdin.data.length > 0) {
        last = stdin.data.at(-1);
        await terminal.write(stdin.data);
      }
      // in the middle of a line the first one only hands over what there is
      if (stdin?.close === true) {
        await terminal.write(new Uint8Array(NEWLINES.includes(last ?? 0) ? 1 : 2).fill(END_OF_INPUT));
      }
    }
  } catch {
    // the caller's side broke: the signal ends the command
  }
}

async function show({ child, output, takeRest }: TerminalCommand, queue: FrameQueue): Promise<void> {
  let pending: Promise<void> = Promise.resolve();
  output.on("data", (data: Buffer) => {
    output.pause();
    pending = queue.put({ stdout: { data } }).then(() => void output.resume());
  });
  try {
    const exit = await ended(child);
    if (child.stdout !== null) await untilClosed(child.stdout);
    const rest = takeRest();
    await pending;
    for (const data of rest) await queue.put({ stdout: { data } });
    await queue.put({ stdout: { close: true } });
    queue.finish(exit);
  } catch (reason) {
    takeRest();
    queue.fail(reason);
  }
}

async function untilClosed(stream: NodeJS.ReadableStream & { readonly closed?: boolean }): Promise<void> {
  if (stream.closed !== true) await once(stream, "close");
}
