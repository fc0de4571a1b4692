/** The catalogue of drivers of this node. */
import { type Clock, onAbort, sleep, systemClock } from "@outrider/backoff";
import { type Logger, OutriderError } from "@outrider/foundation";
import type { DriverTaskEvent, Fingerprint } from "@outrider/plugin-driver";
import type { DriverChange, DriverInstance, DriverManager } from "./driver-manager.ts";
import { DriverSlot } from "./driver-slot.ts";
import type { DriverSource } from "./driver-source.ts";
import { driverChange, failedChange } from "./driver-info.ts";
import { watchEvents, watchFingerprints } from "./driver-watch.ts";

/** How long the node waits for the first word of all drivers. */
export const FIRST_FINGERPRINTS_MS = 50_000;

/** Options of {@link createManagerOf}. */
export interface ManagerOptions {
  readonly sources: readonly DriverSource[];
  readonly clock?: Clock | undefined;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/** A manager over these sources. */
export function createManagerOf(options: ManagerOptions): DriverManager {
  return new Manager(options);
}

class Manager implements DriverManager {
  readonly #slots = new Map<string, DriverSlot>();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #changes = new Set<(change: DriverChange) => void>();
  readonly #events = new Set<(event: DriverTaskEvent) => void>();
  readonly #last = new Map<string, DriverChange>();
  readonly #closing = new AbortController();
  #watching: Array<Promise<void>> = [];

  constructor({ sources, clock = systemClock, logger, random }: ManagerOptions) {
    this.#clock = clock;
    this.#logger = logger;
    for (const source of sources) this.#slots.set(source.name, new DriverSlot({ source, clock, logger, random }));
  }

  get names(): readonly string[] {
    return [...this.#slots.keys()];
  }

  async start(signal: AbortSignal): Promise<void> {
    const stop = onAbort(signal, () => this.#closing.abort(signal.reason));
    this.#closing.signal.addEventListener("abort", stop, { once: true });
    const first = [...this.#slots.values()].map((slot) => this.#watch(slot));
    const patience = new AbortController();
    const limit = sleep(FIRST_FINGERPRINTS_MS, {
      clock: this.#clock,
      signal: AbortSignal.any([patience.signal, signal]),
    });
    try {
      await Promise.race([Promise.all(first), limit]);
    } finally {
      limit.catch(() => undefined);
      patience.abort();
    }
  }

  async dispense(
    name: string,
    { signal, newerThan }: { signal: AbortSignal; newerThan?: number },
  ): Promise<DriverInstance> {
    const slot = this.#slots.get(name);
    if (slot === undefined) {
      throw new OutriderError(
        "ERR_OUTRIDER_DRIVER_UNKNOWN",
        `driver ${JSON.stringify(name)} is not known on this node`,
        {
          details: { driver: name, known: this.names },
        },
      );
    }
    return slot.get(signal, newerThan);
  }

  onChange(listener: (change: DriverChange) => void): Disposable {
    // whoever comes late still learns what is known
    for (const change of this.#last.values()) listener(change);
    return subscribe(this.#changes, listener);
  }

  onTaskEvent(listener: (event: DriverTaskEvent) => void): Disposable {
    return subscribe(this.#events, listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("driver manager is closed"));
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
    await Promise.all(this.#watching);
  }

  /** Resolves with the first word of the driver, good or bad. */
  #watch(slot: DriverSlot): Promise<void> {
    return new Promise((heard) => {
      const listener = {
        fingerprint: (report: Fingerprint) => {
          this.#publish(driverChange(slot.name, report, this.#clock.now()));
          heard();
        },
        failed: (reason: unknown) => {
          this.#publish(failedChange(slot.name, reason, this.#clock.now()));
          heard();
        },
        event: (event: DriverTaskEvent) => {
          for (const listen of this.#events) listen(event);
        },
      };
      const context = { slot, listener, clock: this.#clock, logger: this.#logger, signal: this.#closing.signal };
      this.#watching.push(watchFingerprints(context), watchEvents(context));
    });
  }

  /** Only what differs from the last word is passed on. */
  #publish(change: DriverChange): void {
    const last = this.#last.get(change.name);
    if (last !== undefined && sameChange(last, change)) return;
    this.#last.set(change.name, change);
    for (const listener of this.#changes) listener(change);
  }
}

function subscribe<T>(set: Set<(value: T) => void>, listener: (value: T) => void): Disposable {
  const entry = (value: T): void => listener(value);
  set.add(entry);
  return { [Symbol.dispose]: () => void set.delete(entry) };
}

function sameChange(a: DriverChange, b: DriverChange): boolean {
  const facts = ({ info, attributes }: DriverChange): string =>
    JSON.stringify([
      info.Detected,
      info.Healthy,
      info.HealthDescription,
      Object.entries(attributes).sort(([x], [y]) => (x < y ? -1 : 1)),
    ]);
  return facts(a) === facts(b);
}
