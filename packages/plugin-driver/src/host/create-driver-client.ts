/** A driver behind a transport of the caller's own. */
import { systemClock, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { DriverPlugin } from "../contract/driver.ts";
import type { MessageCarrier } from "../wire/carrier.ts";
import { DriverClient } from "./driver-client.ts";
import { MessageChannel } from "./message-channel.ts";
import { type CallTimeouts, DEFAULT_CALL_TIMEOUTS } from "./timeouts.ts";

/** A driver of which every call reaches the other end. @public */
export type RemoteDriver = Required<Omit<DriverPlugin, "killLeftovers">>;

/** Options of {@link createDriverClient}. @public */
export interface DriverClientOptions {
  readonly timeouts?: Partial<CallTimeouts>;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/**
 * The driver contract spoken over a carrier: the same messages, limits and checks as with gRPC, without loading it. The other end answers by
 * `createDriverHandlers` of `./serve`.
 * @public
 */
export function createDriverClient(carrier: MessageCarrier, o: DriverClientOptions = {}): RemoteDriver {
  const { clock = systemClock, logger } = o;
  return new DriverClient(new MessageChannel(carrier), {
    timeouts: { ...DEFAULT_CALL_TIMEOUTS, ...o.timeouts },
    monotonic: () => clock.monotonic(),
    ...(logger === undefined ? {} : { logger }),
  });
}
