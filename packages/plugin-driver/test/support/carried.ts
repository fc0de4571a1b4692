/** A driver and its client in one process: what they say to each other is bytes all the same. */
import type { DriverPlugin } from "../../src/index.ts";
import { createDriverClient, type DriverClientOptions, type MessageCarrier } from "../../src/host/index.ts";
import { createDriverHandlers, type DriverHandlersOptions } from "../../src/serve/index.ts";

/** The shortest carrier there is. */
export function carrierTo(driver: DriverPlugin, o: DriverHandlersOptions = {}): MessageCarrier {
  const { calls, streams } = createDriverHandlers(driver, o);
  const never = new AbortController().signal;
  return {
    call: (path, request, { signal = never }) => (calls[path] as (typeof calls)[string])(request, signal),
    stream: (path, request, signal, input = none()) =>
      (streams[path] as (typeof streams)[string])(request, signal, input),
  };
}

async function* none(): AsyncGenerator<never> {}

export async function carried(
  driver: DriverPlugin,
  o: DriverHandlersOptions = {},
  c: DriverClientOptions = {},
): Promise<{ readonly client: ReturnType<typeof createDriverClient> } & AsyncDisposable> {
  return { client: createDriverClient(carrierTo(driver, o), c), [Symbol.asyncDispose]: async () => undefined };
}
