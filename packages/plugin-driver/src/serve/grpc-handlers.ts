/** Methods as grpc-js wants them: every failure a status, nothing escapes. */
import type { DescService } from "@bufbuild/protobuf";
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Server,
  ServerDuplexStream,
  ServerWritableStream,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { onAbort } from "@outrider/backoff";
import { MessageQueue } from "../wire/message-queue.ts";
import { serviceDefinition } from "../wire/methods.ts";
import { type StatusReply, toStatus } from "../wire/status.ts";
import {
  type BidiMethod,
  CallCancelled,
  type ServedMethods,
  type ServerStreamMethod,
  type UnaryMethod,
  type Write,
} from "./handlers.ts";

/** Adds a service to a gRPC server. */
export function addService(server: Server, service: DescService, methods: ServedMethods): void {
  const handlers: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(methods)) {
    if (method.kind === "unary") handlers[name] = unaryHandler(method);
    else handlers[name] = method.kind === "bidi" ? bidiHandler(method) : streamHandler(method);
  }
  server.addService(serviceDefinition(service), handlers);
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

function unaryHandler<Q, R>({ run, recoverable }: UnaryMethod<Q, R>): handleUnaryCall<Q, R> {
  return (call, reply) => {
    // An async wrapper, so that a driver method that throws at once is a rejection like any other.
    const answer = async (): Promise<R> => run(call.request, signalOf(call));
    answer().then(
      (response) => reply(null, response),
      (reason: unknown) => reply(toStatus(reason, recoverable)),
    );
  };
}

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

function streamHandler<Q, R>({ run, recoverable }: ServerStreamMethod<Q, R>): handleServerStreamingCall<Q, R> {
  return (call) => {
    const signal = signalOf(call);
    const work = async (): Promise<void> => run(call.request, writer(call, signal), signal);
    finish(call, work(), recoverable);
  };
}

function bidiHandler<Q, R>({ run }: BidiMethod<Q, R>): handleBidiStreamingCall<Q, R> {
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
