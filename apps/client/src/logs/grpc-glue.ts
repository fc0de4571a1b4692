/** Service descriptors of protobuf-es as grpc-js wants them, for the few calls of our own. */
import {
  create,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Client, type handleUnaryCall, Metadata, type ServiceDefinition, status } from "@grpc/grpc-js";
import { onAbort } from "@outrider/backoff";
import { isOutriderError } from "@outrider/foundation";

/** The wire definition of a service whose calls are all unary. */
export function definitionOf(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: pathOf(method),
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: unknown) => Buffer.from(toBinary(method.input, message as never)),
        requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
        responseSerialize: (message: unknown) => Buffer.from(toBinary(method.output, message as never)),
        responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
      },
    ]),
  );
}

/** A handler from a promise; a failure becomes a status with the error's code and text. */
export function answer<I, O>(run: (request: I) => Promise<O>): handleUnaryCall<I, O> {
  return (call, reply) => {
    const result = async (): Promise<O> => run(call.request);
    result().then(
      (response) => reply(null, response),
      (reason: unknown) => {
        const text = reason instanceof Error ? reason.message : String(reason);
        const metadata = new Metadata();
        if (isOutriderError(reason)) metadata.set("outrider-code", reason.code);
        reply({ code: status.UNKNOWN, details: text, metadata });
      },
    );
  };
}

/** Calls a unary method. */
export function callUnary<M extends DescMethod>(
  client: Client,
  method: M,
  request: MessageInitShape<M["input"]>,
  options: { readonly signal?: AbortSignal | undefined; readonly deadlineMs?: number; readonly now?: number } = {},
): Promise<MessageShape<M["output"]>> {
  const { signal, deadlineMs, now } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    let forget: (() => void) | undefined;
    const call = client.makeUnaryRequest(
      pathOf(method),
      (message: unknown) => Buffer.from(toBinary(method.input, message as never)),
      (bytes: Buffer) => fromBinary(method.output, bytes) as MessageShape<M["output"]>,
      create(method.input, request as never),
      new Metadata(),
      deadlineMs === undefined || now === undefined ? {} : { deadline: now + deadlineMs },
      (error, response) => {
        forget?.();
        if (error === null && response !== undefined) resolve(response);
        else reject(signal?.aborted === true ? (signal.reason as Error) : (error ?? new Error("no answer")));
      },
    );
    if (signal !== undefined) forget = onAbort(signal, () => call.cancel());
  });
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
