/** What the host's side of a driver needs of whatever carries its messages. */
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";

/** Limits of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Absent = only the signal ends the call. */
  readonly timeoutMs?: number | undefined;
}

/** Calls of one plugin instance. */
export interface DriverChannel {
  /** A call with one answer. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    o?: CallOptions,
  ): Promise<MessageShape<O>>;
  /** A call with a stream of answers; it is opened by the first `next()` and ended by `signal`, `return()` or the plugin. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal?: AbortSignal,
  ): AsyncIterable<MessageShape<O>>;
  /** A call with streams both ways. Sending after its end does nothing. */
  bidi<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    signal?: AbortSignal,
  ): BidiCall<MessageInitShape<I>, MessageShape<O>>;
}

/** An open call with streams both ways. */
export interface BidiCall<I, O> {
  /** Resolves when more may be sent. */
  send(message: I): Promise<void>;
  readonly answers: AsyncIterable<O>;
}
