/** ExecTaskStreaming: the order of frames that Nomad's CLI relies on. */
import { create } from "@bufbuild/protobuf";
import type { DriverPlugin, ExecChunk, ExecInput, ExecOutput } from "../contract/driver.ts";
import { NotImplementedError, PluginProtocolError } from "../contract/errors.ts";
import {
  type ExecTaskStreamingIOOperation,
  type ExecTaskStreamingRequest,
  type ExecTaskStreamingResponse,
  ExecTaskStreamingResponseSchema,
} from "../gen/driver_pb.js";
import { toExitResult } from "../wire/task.ts";

function toInput(message: ExecTaskStreamingRequest): ExecInput {
  const { stdin, ttySize } = message;
  return {
    ...(stdin === undefined ? {} : { stdin: fromOperation(stdin) }),
    // A terminal without a size sends an empty one: nothing to set.
    ...(ttySize === undefined || (ttySize.height === 0 && ttySize.width === 0)
      ? {}
      : { ttySize: { height: ttySize.height, width: ttySize.width } }),
  };
}

export function fromOperation(operation: ExecTaskStreamingIOOperation): ExecChunk {
  return {
    ...(operation.data.length === 0 ? {} : { data: operation.data }),
    ...(operation.close ? { close: true } : {}),
  };
}

async function* inputs(
  first: ExecTaskStreamingRequest,
  rest: AsyncIterator<ExecTaskStreamingRequest>,
): AsyncGenerator<ExecInput> {
  for (let message: ExecTaskStreamingRequest | undefined = first; message !== undefined;) {
    const input = toInput(message);
    // Empty messages are heartbeats.
    if (input.stdin !== undefined || input.ttySize !== undefined) yield input;
    const next = await rest.next();
    message = next.done === true ? undefined : next.value;
  }
}

/** Relays one exec: frames of the driver as they come, then the closes it left out, then `exited` as the very last frame. */
export async function runExec(
  driver: DriverPlugin,
  requests: AsyncIterable<ExecTaskStreamingRequest>,
  write: (message: ExecTaskStreamingResponse) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (driver.execTaskStreaming === undefined) throw new NotImplementedError("ExecTaskStreaming");
  const source = requests[Symbol.asyncIterator]();
  const first = await source.next();
  const setup = first.done === true ? undefined : first.value.setup;
  if (first.done === true || setup === undefined) throw new PluginProtocolError("exec: first message without setup");
  if (setup.command.length === 0) throw new PluginProtocolError("exec: empty command");
  const request = { command: setup.command, tty: setup.tty };
  const open = { stdout: true, stderr: true };
  const send = (init: Parameters<typeof create<typeof ExecTaskStreamingResponseSchema>>[1]): Promise<void> =>
    write(create(ExecTaskStreamingResponseSchema, init));
  const relay = async (stream: "stdout" | "stderr", chunk: ExecChunk | undefined): Promise<void> => {
    if (chunk === undefined || !open[stream]) return;
    if (chunk.close === true) open[stream] = false;
    await send({ [stream]: { data: chunk.data ?? new Uint8Array(), close: chunk.close ?? false } });
  };
  let exited: ExecOutput["exited"];
  try {
    for await (const frame of driver.execTaskStreaming(setup.taskId, request, inputs(first.value, source), signal)) {
      await relay("stdout", frame.stdout);
      await relay("stderr", frame.stderr);
      exited = frame.exited;
      if (exited !== undefined || signal.aborted) break;
    }
    if (signal.aborted) return;
    if (exited === undefined) throw new PluginProtocolError("exec: driver ended the stream without an exit result");
    await relay("stderr", { close: true });
    await relay("stdout", { close: true });
    await send({ exited: true, result: toExitResult(exited) });
  } finally {
    await source.return?.();
  }
}
