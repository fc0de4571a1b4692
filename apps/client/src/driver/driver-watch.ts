/** The two streams of every driver: what it says about itself, and its task events. */
import { type Backoff, type Clock, createBackoff, sleep } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { type DriverTaskEvent, type Fingerprint, isPluginShutdown } from "@outrider/plugin-driver";
import type { DriverInstance } from "./driver-manager.ts";
import type { DriverSlot } from "./driver-slot.ts";

/** Delays between attempts to open a stream, as Nomad has them. */
const STREAM_BASE_MS = 5_000;
const STREAM_LIMIT_MS = 120_000;
/** A stream that lived this long, or gave a message, was no failure. */
const STREAM_HEALTHY_MS = 5_000;

/** Receives what a driver says. */
export interface DriverListener {
  fingerprint(report: Fingerprint): void;
  /** The driver cannot be asked; called for each failed attempt. */
  failed(reason: unknown): void;
  event(event: DriverTaskEvent): void;
}

/** What the watching needs. */
export interface WatchContext {
  readonly slot: DriverSlot;
  readonly listener: DriverListener;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Keeps the fingerprint stream open until the signal aborts. */
export function watchFingerprints(context: WatchContext): Promise<void> {
  const { listener } = context;
  return keepOpen(
    context,
    ({ plugin }, signal) => plugin.fingerprint(signal),
    (report: Fingerprint) => listener.fingerprint(report),
    true,
  );
}

/** Keeps the event stream open until the signal aborts. */
export function watchEvents(context: WatchContext): Promise<void> {
  const { listener } = context;
  return keepOpen(
    context,
    ({ plugin }, signal) => plugin.taskEvents(signal),
    (event: DriverTaskEvent) => listener.event(event),
    false,
  );
}

async function keepOpen<T>(
  { slot, listener, clock, logger, signal }: WatchContext,
  open: (instance: DriverInstance, signal: AbortSignal) => AsyncIterable<T>,
  take: (value: T) => void,
  reports: boolean,
): Promise<void> {
  const waits: Backoff = createBackoff({ base: STREAM_BASE_MS, limit: STREAM_LIMIT_MS, clock });
  let generation = 0;
  while (!signal.aborted) {
    const began = clock.monotonic();
    let messages = 0;
    let gone = false;
    let used = generation;
    try {
      const instance = await slot.get(signal, generation);
      used = instance.generation;
      for await (const value of open(instance, signal)) {
        messages++;
        take(value);
      }
    } catch (reason) {
      if (signal.aborted) return;
      gone = isPluginShutdown(reason);
      if (gone) generation = used;
      if (reports) listener.failed(reason);
      logger.debug({ err: reason, driver: slot.name }, "stream of a driver ended");
    }
    if (messages > 0 || clock.monotonic() - began >= STREAM_HEALTHY_MS) waits.reset();
    // a new process is asked at once: its start has a backoff of its own
    if (gone && messages > 0) continue;
    try {
      await sleep(waits.next(), { clock, signal });
    } catch {
      return;
    }
  }
}
