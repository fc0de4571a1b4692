/** How driver code serves one method, whatever carries its messages: one abort signal a call. */

/** Why a call's signal aborts when the host goes away or cancels. */
export class CallCancelled extends Error {
  override readonly name = "AbortError";
  constructor() {
    super("the host cancelled the call");
  }
}

/** Writes one message; resolves when the stream takes more, or when the call ends. */
export type Write<R> = (message: R) => Promise<void>;

/** A method with one answer. */
export interface UnaryMethod<Q, R> {
  readonly kind: "unary";
  run(this: void, request: Q, signal: AbortSignal): Promise<R>;
  /** Whether the call's failures carry Nomad's recoverable flag. */
  readonly recoverable: boolean;
}

/** A method with a stream of answers; it ends well when `run` returns. */
export interface ServerStreamMethod<Q, R> {
  readonly kind: "server-stream";
  run(this: void, request: Q, write: Write<R>, signal: AbortSignal): Promise<void>;
  readonly recoverable: boolean;
}

/** A method with streams both ways; it ends well when `run` returns, which may be before the host has half-closed. */
export interface BidiMethod<Q, R> {
  readonly kind: "bidi";
  run(this: void, requests: AsyncIterable<Q>, write: Write<R>, signal: AbortSignal): Promise<void>;
}

// The messages of a method are known to its service's description only.
/** Any method. */
export type ServedMethod =
  | UnaryMethod<unknown, unknown>
  | ServerStreamMethod<unknown, unknown>
  | BidiMethod<unknown, unknown>;

/** The methods of one service by their local names. */
export type ServedMethods = Readonly<Record<string, ServedMethod>>;

/** @param recoverable whether the call's failures carry Nomad's recoverable flag */
export function unary<Q, R>(run: UnaryMethod<Q, R>["run"], recoverable = false): UnaryMethod<Q, R> {
  return { kind: "unary", run, recoverable };
}

/** @param recoverable whether the call's failures carry Nomad's recoverable flag */
export function serverStream<Q, R>(
  run: ServerStreamMethod<Q, R>["run"],
  recoverable = false,
): ServerStreamMethod<Q, R> {
  return { kind: "server-stream", run, recoverable };
}

export function bidiStream<Q, R>(run: BidiMethod<Q, R>["run"]): BidiMethod<Q, R> {
  return { kind: "bidi", run };
}
