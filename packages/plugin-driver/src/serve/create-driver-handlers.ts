/** The services of a driver for a transport of the caller's own. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { onAbort, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import { PluginProtocolError } from "../contract/errors.ts";
import { BasePlugin } from "../gen/base_pb.js";
import { Driver } from "../gen/driver_pb.js";
import type { MessageHandlers } from "../wire/carrier.ts";
import { mapAsync } from "../wire/map-async.ts";
import { serverMethod } from "../wire/methods.ts";
import { PushQueue } from "../wire/push-queue.ts";
import { baseMethods } from "./base-service.ts";
import { driverMethods } from "./driver-service.ts";
import { CallCancelled, type ServedMethod, type ServedMethods, type Write } from "./handlers.ts";
import { serviceContext } from "./service-context.ts";

/** Options of {@link createDriverHandlers}. @public */
export interface DriverHandlersOptions {
  /** See `DriverServerOptions`. */
  readonly guardFifos?: boolean;
  /**
   * Whether the handle of a start holds the task's config, as a stock agent needs it. Without it a `createDriverClient` takes the one that it
   * sent. Default true.
   */
  readonly repeatConfig?: boolean;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/**
 * The base and driver services as functions from bytes to bytes, to be put behind any transport: what a stock agent may ask by gRPC,
 * with the same guards, without loading gRPC. Failures are thrown as they are.
 * @public
 */
export function createDriverHandlers(driver: DriverPlugin, o: DriverHandlersOptions = {}): MessageHandlers {
  const handlers: { calls: Record<string, Call>; streams: Record<string, Stream> } = { calls: {}, streams: {} };
  const add = (service: DescService, methods: ServedMethods): void => {
    for (const description of service.methods) {
      const method = methods[description.localName];
      if (method === undefined) continue;
      const codec = serverMethod(description);
      if (method.kind === "unary") {
        const { run } = method;
        handlers.calls[codec.path] = async (request, signal) =>
          codec.serialize(await run(read(description, request), signal));
      } else handlers.streams[codec.path] = streamOf(description, method);
    }
  };
  add(BasePlugin, baseMethods(driver));
  add(Driver, driverMethods(serviceContext(driver, o)));
  return handlers;
}

type Call = MessageHandlers["calls"][string];
type Stream = MessageHandlers["streams"][string];

function streamOf(description: DescMethod, method: Exclude<ServedMethod, { kind: "unary" }>): Stream {
  const { serialize } = serverMethod(description);
  return (request, signal, input) =>
    outgoing((write, over) => {
      const send: Write<unknown> = (message) => write(serialize(message));
      return method.kind === "server-stream"
        ? method.run(read(description, request), send, over)
        : method.run(
            mapAsync(input, (bytes) => read(description, bytes)),
            send,
            over,
          );
    }, signal);
}

/** What `work` writes. Whoever leaves early aborts it. */
function outgoing(
  work: (write: Write<Uint8Array>, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const over = new AbortController();
  const stop = (): void => over.abort(new CallCancelled());
  const forget = onAbort(signal, stop);
  const queue = new PushQueue<Uint8Array>(() => {
    forget();
    stop();
  });
  const run = async (): Promise<void> => work((bytes) => queue.write(bytes), over.signal);
  run().then(
    () => queue.end(),
    (reason: unknown) => queue.fail(reason),
  );
  return queue.reader;
}

function read(description: DescMethod, bytes: Uint8Array): unknown {
  try {
    return serverMethod(description).deserialize(bytes);
  } catch (cause) {
    throw new PluginProtocolError(`${description.name}: message cannot be read`, { cause });
  }
}
