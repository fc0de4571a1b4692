/** The driver's calls over a carrier of messages. */
import type {
  DescMessage,
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { PluginProtocolError } from "../contract/errors.ts";
import type { MessageCarrier } from "../wire/carrier.ts";
import { mapAsync } from "../wire/map-async.ts";
import { clientMethod } from "../wire/methods.ts";
import { PushQueue } from "../wire/push-queue.ts";
import type { BidiCall, CallOptions, DriverChannel } from "./driver-channel.ts";

const NEVER = new AbortController().signal;

/** Encodes and decodes; everything else is the carrier's. */
export class MessageChannel implements DriverChannel {
  readonly #carrier: MessageCarrier;

  constructor(carrier: MessageCarrier) {
    this.#carrier = carrier;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    o: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { path, serialize } = clientMethod(method);
    return decode<O>(method, await this.#carrier.call(path, serialize(create(method.input, request)), o));
  }

  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal = NEVER,
  ): AsyncIterable<MessageShape<O>> {
    const { path, serialize } = clientMethod(method);
    const answers = this.#carrier.stream(path, serialize(create(method.input, request)), signal);
    return mapAsync(answers, (bytes) => decode<O>(method, bytes));
  }

  bidi<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    signal: AbortSignal = NEVER,
  ): BidiCall<MessageInitShape<I>, MessageShape<O>> {
    const { path, serialize } = clientMethod(method);
    const input = new PushQueue<Uint8Array>();
    const answers = this.#carrier.stream(path, new Uint8Array(), signal, input.reader);
    return {
      answers: mapAsync(answers, (bytes) => decode<O>(method, bytes)),
      send: (message) => input.write(serialize(create(method.input, message))),
    };
  }
}

function decode<O extends DescMessage>(method: DescMethod, bytes: Uint8Array): MessageShape<O> {
  const { deserialize } = clientMethod(method);
  try {
    return deserialize(bytes) as MessageShape<O>;
  } catch (cause) {
    throw new PluginProtocolError(`${method.name}: driver sent a message that cannot be read`, { cause });
  }
}
