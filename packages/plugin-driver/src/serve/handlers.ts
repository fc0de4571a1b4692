/** How driver code runs inside gRPC handlers: one abort signal a call, every failure a status, nothing escapes. */
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  ServerDuplexStream,
  ServerWritableStream,
} from "@grpc/grpc-js";
import { onAbort } from "@outrider/backoff";
import { MessageQueue } from "../wire/message-queue.ts";
import { type StatusReply, toStatus } from "../wire/status.ts";

/** Why a call's signal aborts when the host goes away or cancels. */
export class CallCancelled extends Error {
  override readonly name = "AbortError";
  constructor() {
    super("the host cancelled the call");
  }
}

interface Cancellable {
  readonly cancelled: boolean;
  on(event: "cancelled", listener: () => void): unknown;
}

function signalOf(call: Cancellable): AbortSignal {
  const controller = new AbortController();
  if (call.cancelled) controller.abort(new CallCancelled());
  else call.on("cancelled", () => controller.abort(new CallCancelled()));
  return controller.signal;
}

/** @param recoverable whether the call's failures carry Nomad's recoverable flag */
export function unary<Q, R>(
  run: (request: Q, signal: AbortSignal) => Promise<R>,
  recoverable = false,
): handleUnaryCall<Q, R> {
  return (call, reply) => {
    // An async wrapper, so that a driver method that throws at once is a rejection like any other.
    const answer = async (): Promise<R> => run(call.request, signalOf(call));
    answer().then(
      (response) => reply(null, response),
      (reason: unknown) => reply(toStatus(reason, recoverable)),
    );
  };
}

/** Writes one message; resolves when the stream takes more, or when the call ends. */
export type Write<R> = (message: R) => Promise<void>;

function writer<R>(
  call: ServerWritableStream<unknown, R> | ServerDuplexStream<unknown, R>,
  signal: AbortSignal,
): Write<R> {
  return (message) => {
    if (signal.aborted || call.write(message)) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        call.off("drain", settle);
        forget();
        resolve();
      };
      const forget = onAbort(signal, () => settle());
      call.once("drain", settle);
    });
  };
}

/** The stream ends with OK when `run` returns. */
export function serverStream<Q, R>(
  run: (request: Q, write: Write<R>, signal: AbortSignal) => Promise<void>,
  recoverable = false,
): handleServerStreamingCall<Q, R> {
  return (call) => {
    const signal = signalOf(call);
    const work = async (): Promise<void> => run(call.request, writer(call, signal), signal);
    finish(call, work(), recoverable);
  };
}

/** The stream ends with OK when `run` returns; it may do so before the host has half-closed. */
export function bidiStream<Q, R>(
  run: (requests: AsyncIterable<Q>, write: Write<R>, signal: AbortSignal) => Promise<void>,
): handleBidiStreamingCall<Q, R> {
  return (call) => {
    const signal = signalOf(call);
    const work = async (): Promise<void> => run(incoming(call), writer(call, signal), signal);
    finish(call, work(), false);
  };
}

/** The host's messages; leaving the loop early does not end the call. */
function incoming<Q>(call: ServerDuplexStream<Q, never>): AsyncIterable<Q> {
  const queue = new MessageQueue<Q>({
    pause: () => call.pause(),
    resume: () => call.resume(),
    // Whatever still comes is read and dropped, so that the connection's window is given back.
    release: () => {
      call.removeAllListeners("data");
      call.resume();
    },
  });
  call.on("data", (message: Q) => queue.push(message));
  call.on("end", () => queue.end());
  call.on("cancelled", () => queue.end());
  return queue;
}

interface Finishable {
  on(event: "error", listener: () => void): unknown;
  emit(event: "error", reply: StatusReply): unknown;
  end(): unknown;
}

function finish(call: Finishable, work: Promise<void>, recoverable: boolean): void {
  // A cancelled host closes the stream under us; grpc-js reports that as an error event nobody needs.
  call.on("error", () => undefined);
  work.then(
    () => call.end(),
    (reason: unknown) => call.emit("error", toStatus(reason, recoverable)),
  );
}
