/** The host's side of an interactive exec. */
import type { ExecChunk, ExecInput, ExecOutput, ExecRequest } from "../contract/driver.ts";
import { PluginProtocolError } from "../contract/errors.ts";
import { Driver, type ExecTaskStreamingIOOperation } from "../gen/driver_pb.js";
import { fromExitResult } from "../wire/task.ts";
import type { DriverChannel } from "./driver-channel.ts";

function toOperation(chunk: ExecChunk): { data: Uint8Array; close: boolean } {
  return { data: chunk.data ?? new Uint8Array(), close: chunk.close ?? false };
}

function fromOperation(operation: ExecTaskStreamingIOOperation): ExecChunk {
  return {
    ...(operation.data.length === 0 ? {} : { data: operation.data }),
    ...(operation.close ? { close: true } : {}),
  };
}

/**
 * Opens one exec. Ends after the frame with `exited`; a stream that ends without it is an error. Leaving the loop or
 * aborting kills the command.
 */
export async function* execStream(
  channel: DriverChannel,
  taskId: string,
  request: ExecRequest,
  input: AsyncIterable<ExecInput>,
  signal: AbortSignal,
): AsyncGenerator<ExecOutput> {
  // Ours: also ends the pump of the input when the command has ended.
  const over = new AbortController();
  const call = channel.bidi(Driver.method.execTaskStreaming, signal);
  const source = call.answers[Symbol.asyncIterator]();
  const keyboard = input[Symbol.asyncIterator]();
  const pump = async (): Promise<void> => {
    await call.send({ setup: { taskId, command: [...request.command], tty: request.tty } });
    while (!over.signal.aborted) {
      const next = await keyboard.next();
      if (next.done === true || over.signal.aborted) return;
      const { stdin, ttySize } = next.value;
      await call.send({
        ...(stdin === undefined ? {} : { stdin: toOperation(stdin) }),
        ...(ttySize === undefined ? {} : { ttySize: { ...ttySize } }),
      });
    }
  };
  let broken: unknown;
  try {
    // The first next() opens the call, so that there is something to send to.
    let answer = source.next();
    void pump().catch((reason: unknown) => {
      broken = reason;
      return source.return?.();
    });
    for (;;) {
      const next = await answer;
      if (next.done === true) {
        if (broken !== undefined) throw broken;
        throw new PluginProtocolError("exec: stream ended without an exit result", { details: { taskId } });
      }
      const { stdout, stderr, exited, result } = next.value;
      const frame: ExecOutput = {
        ...(stdout === undefined ? {} : { stdout: fromOperation(stdout) }),
        ...(stderr === undefined ? {} : { stderr: fromOperation(stderr) }),
        ...(exited ? { exited: result === undefined ? UNKNOWN_EXIT : fromExitResult(result) } : {}),
      };
      answer = exited ? answer : source.next();
      yield frame;
      if (exited) return;
    }
  } finally {
    over.abort();
    await source.return?.();
    void Promise.resolve(keyboard.return?.()).catch(() => undefined);
  }
}

const UNKNOWN_EXIT = { exitCode: -1, signal: 0, oomKilled: false } as const;
