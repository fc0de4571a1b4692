/** One connection to a plugin: calls with deadlines, streams as iterables, and an end that every call notices. */
import type {
  DescMessage,
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
} from "@bufbuild/protobuf";
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import {
  type ClientDuplexStream,
  type ClientReadableStream,
  Client,
  connectivityState,
  credentials as grpcCredentials,
  type ChannelCredentials,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { onAbort, type Clock } from "@outrider/backoff";
import type { BidiCall, CallOptions, DriverChannel } from "./driver-channel.ts";
import { PluginShutdownError, PluginStartError, PluginTimeoutError } from "../contract/errors.ts";
import { clientMethod } from "../wire/methods.ts";
import { MessageQueue } from "../wire/message-queue.ts";
import { fromStatus } from "../wire/status.ts";

/** Where a plugin listens, as in its handshake line. */
export interface PluginAddress {
  readonly network: "unix" | "tcp";
  readonly address: string;
}

/** After UNAVAILABLE: so long may the end of the process take to be noticed. */
const DEATH_WAIT_MS = 3_000;

type Reject = (reason: Error) => void;

/** A gRPC client for one plugin instance, never for a second one: when the connection is lost it stays lost. */
export class PluginChannel implements DriverChannel {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #pending = new Set<Reject>();
  #gone = false;
  #resolveGone: () => void = () => undefined;
  /** Resolves when the connection or the process is gone, or the channel was closed. */
  readonly gone: Promise<void>;

  constructor(target: PluginAddress, o: { readonly clock: Clock; readonly credentials?: ChannelCredentials }) {
    this.#clock = o.clock;
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve));
    const uri = target.network === "unix" ? `unix:${target.address}` : target.address;
    this.#client = new Client(uri, o.credentials ?? grpcCredentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      // Node's HTTP/2 servers refuse the path that would be sent otherwise.
      "grpc.default_authority": "localhost",
      "grpc.enable_retries": 0,
      "grpc.enable_channelz": 0,
      "grpc.service_config_disable_resolution": 1,
      // Never a connection of another, older instance at the same path.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.client_idle_timeout_ms": 2_147_483_647,
    });
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /** Connects. @throws {@link PluginStartError} of kind `connect` */
  async ready(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const channel = this.#client.getChannel();
    await this.#settle<void>("connect", { timeoutMs, signal }, (done, fail) => {
      const look = (): void => {
        if (this.#gone) return;
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) return done();
        // One refused dial is an answer: nobody listens there, and a later listener would be another instance.
        if (state === connectivityState.TRANSIENT_FAILURE) {
          return fail(new PluginStartError("connect", "nothing listens at the plugin's address"));
        }
        channel.watchConnectivityState(state, Infinity, look);
      };
      look();
      return () => undefined;
    });
    channel.watchConnectivityState(connectivityState.READY, Infinity, () => this.close());
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    o: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { path, serialize, deserialize } = clientMethod(method);
    return this.#settle<MessageShape<O>>(method.name, o, (done, fail) => {
      const call = this.#client.makeUnaryRequest(
        path,
        serialize,
        deserialize as (bytes: Buffer) => MessageShape<O>,
        create(method.input, request),
        (error: ServiceError | null, answer?: MessageShape<O>) => {
          if (error === null) done(answer as MessageShape<O>);
          else void this.#mapped(error, path).then(fail);
        },
      );
      return () => call.cancel();
    });
  }

  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal?: AbortSignal,
  ): AsyncIterable<MessageShape<O>> {
    const { path, serialize, deserialize } = clientMethod(method);
    return {
      [Symbol.asyncIterator]: () =>
        this.#receive<MessageShape<O>>(method, signal, () =>
          this.#client.makeServerStreamRequest(
            path,
            serialize,
            deserialize as (bytes: Buffer) => MessageShape<O>,
            create(method.input, request),
          ),
        ),
    };
  }

  bidi<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    signal?: AbortSignal,
  ): BidiCall<MessageInitShape<I>, MessageShape<O>> {
    const { path, serialize, deserialize } = clientMethod(method);
    let call: ClientDuplexStream<MessageShape<I>, MessageShape<O>> | undefined;
    const answers = this.#receive<MessageShape<O>>(method, signal, () => {
      call = this.#client.makeBidiStreamRequest(
        path,
        serialize,
        deserialize as (bytes: Buffer) => MessageShape<O>,
      ) as ClientDuplexStream<MessageShape<I>, MessageShape<O>>;
      return call;
    });
    return {
      answers,
      send: (message) => {
        const stream = call;
        if (stream === undefined || stream.writableEnded || stream.destroyed) return Promise.resolve();
        return new Promise((resolve) => stream.write(create(method.input, message), () => resolve()));
      },
    };
  }

  /** Marks the instance as gone: every call, pending or later, rejects. Idempotent. */
  close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#resolveGone();
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const reject of pending) reject(new PluginShutdownError());
    this.#client.close();
  }

  #settle<T>(what: string, o: CallOptions, start: (done: (value: T) => void, fail: Reject) => () => void): Promise<T> {
    const { signal, timeoutMs } = o;
    if (this.#gone) return Promise.reject(new PluginShutdownError());
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise<T>((resolve, reject) => {
      let cancel: () => void = () => undefined;
      let settled = false;
      let timer: unknown;
      const settle = (then: () => void): void => {
        if (settled) return;
        settled = true;
        this.#pending.delete(shut);
        forget?.();
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        then();
      };
      const fail: Reject = (reason) => settle(() => reject(reason));
      const stop = (reason: Error): void => {
        fail(reason);
        cancel();
      };
      // Cancelled too: a pending call would hold the connection open until the plugin answers.
      const shut: Reject = stop;
      this.#pending.add(shut);
      let forget: (() => void) | undefined;
      cancel = start((value) => settle(() => resolve(value)), fail);
      if (settled) return;
      if (signal !== undefined) forget = onAbort(signal, () => stop(signal.reason as Error));
      if (timeoutMs !== undefined) {
        timer = this.#clock.setTimeout(() => stop(new PluginTimeoutError(what, timeoutMs)), timeoutMs);
      }
    });
  }

  #receive<T>(
    method: DescMethod,
    signal: AbortSignal | undefined,
    open: () => ClientReadableStream<T> | ClientDuplexStream<never, T>,
  ): AsyncIterator<T, undefined> & AsyncIterable<T> {
    let stream: (ClientReadableStream<T> | ClientDuplexStream<never, T>) | undefined;
    let forget: (() => void) | undefined;
    const shut: Reject = (reason) => queue.fail(reason);
    const queue: MessageQueue<T> = new MessageQueue<T>({
      pause: () => stream?.pause(),
      resume: () => stream?.resume(),
      release: () => {
        this.#pending.delete(shut);
        forget?.();
        stream?.cancel();
      },
    });
    const start = (): void => {
      if (signal?.aborted === true) return queue.fail(signal.reason, true);
      if (this.#gone) return queue.fail(new PluginShutdownError());
      this.#pending.add(shut);
      const opened = open();
      stream = opened;
      if (signal !== undefined) forget = onAbort(signal, () => queue.fail(signal.reason, true));
      let ended = false;
      let last: StatusObject | undefined;
      // The status may overtake messages that wait in a paused stream: it counts when both have come.
      const finish = (): void => {
        if (!ended || last === undefined) return;
        if (last.code === status.OK) queue.end();
        else void this.#mapped(last, clientMethod(method).path).then((reason) => queue.fail(reason));
      };
      opened.on("data", (message: T) => queue.push(message));
      opened.on("error", () => undefined);
      opened.on("end", () => {
        ended = true;
        finish();
      });
      opened.on("status", (object: StatusObject) => {
        last = object;
        finish();
      });
    };
    let started = false;
    const begin = (): void => {
      if (started) return;
      started = true;
      start();
    };
    const iterator = {
      next: () => {
        begin();
        return queue.next();
      },
      return: () => {
        started = true;
        return queue.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** The failure of a call in the words of the contract: the end of the plugin outranks what the call said. */
  async #mapped(failure: StatusObject | ServiceError, path: string): Promise<Error> {
    if (failure.code === status.UNAVAILABLE && !this.#gone) {
      let timer: unknown;
      const waited = new Promise<void>((resolve) => (timer = this.#clock.setTimeout(resolve, DEATH_WAIT_MS)));
      await Promise.race([this.gone, waited]);
      this.#clock.clearTimeout(timer);
    }
    if (this.#gone) return new PluginShutdownError({ cause: failure });
    return fromStatus(failure, path);
  }
}
