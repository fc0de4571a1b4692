import { backoff, sleep } from "@outrider/backoff";
import type { DriverInfo, Node, NodeEvent } from "@outrider/nomad-structs";
import { make, NodeEventStruct } from "@outrider/nomad-structs";
import type { DriverChange } from "../driver/driver-manager.ts";
import { REGISTERED_KEY } from "./client-keys.ts";
import { computedClass } from "./fingerprint/fingerprint-node.ts";
import type { NodeClientOptions } from "./node-options.ts";

/** Changes of drivers that come together are announced together, ms. */
const DEBOUNCE_MS = 50;

/** Announces the node, keeps it alive by heartbeats, and announces changes of its drivers. */
export class Registration {
  readonly #o: NodeClientOptions;
  #node: Node;
  #registered = false;
  #dirty = false;
  #wake: (() => void) | undefined;
  #lastHeartbeatMs = 0;
  #ttlMs = 0;
  readonly #events: NodeEvent[] = [];

  constructor(o: NodeClientOptions) {
    this.#o = o;
    this.#node = o.node;
  }

  /** The node as it is now. */
  get node(): Node {
    return this.#node;
  }

  /** For `agent` status: when the server last answered, and how long it waits. */
  get heartbeat(): { readonly lastMs: number; readonly ttlMs: number } {
    return { lastMs: this.#lastHeartbeatMs, ttlMs: this.#ttlMs };
  }

  /** Registers; tries until it succeeds or the signal aborts. */
  async register(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        this.#dirty = false;
        const reply = await this.#o.link.register(this.#node, { signal });
        this.#took(reply.heartbeatTtlMs);
        if (!this.#registered) {
          await this.#o.state.write({ put: { [REGISTERED_KEY]: { HasRegistered: true } } });
          const ready = await this.#o.link.heartbeat(this.#node.ID, "ready", { signal });
          this.#took(ready.heartbeatTtlMs);
        }
        this.#registered = true;
        this.#node = { ...this.#node, Status: "ready" };
        return;
      } catch (reason) {
        signal.throwIfAborted();
        this.#o.logger.warn({ err: reason, attempt }, "the node could not be registered; trying again");
        await sleep(backoff(1000, 15_000, attempt), { signal, clock: this.#o.clock });
      }
    }
  }

  /** Heartbeats and announcements until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waited = await this.#wait(Math.max(1000, this.#ttlMs / 2), signal);
      if (signal.aborted) return;
      try {
        if (waited === "change") await sleep(DEBOUNCE_MS, { signal, clock: this.#o.clock });
        if (this.#dirty) await this.register(signal);
        await this.#sendEvents(signal);
        if (waited === "time")
          this.#took((await this.#o.link.heartbeat(this.#node.ID, "ready", { signal })).heartbeatTtlMs);
      } catch (reason) {
        if (signal.aborted) return;
        this.#o.logger.warn({ err: reason }, "heartbeat failed");
      }
    }
  }

  /** Takes a driver's fingerprint into the node. */
  driverChanged(change: DriverChange): void {
    const before = this.#node.Drivers?.[change.name];
    this.#node = withDriver(this.#node, change);
    if (before !== undefined && before.Healthy !== change.info.Healthy) {
      this.#events.push(
        make(NodeEventStruct, {
          Subsystem: "Driver",
          Message:
            change.info.HealthDescription === ""
              ? change.info.Healthy
                ? "Driver is healthy"
                : "Driver is not healthy"
              : change.info.HealthDescription,
          Details: { driver: change.name },
          Timestamp: new Date(this.#o.clock.now()).toISOString(),
        }),
      );
    }
    if (before !== undefined && same(before, change.info)) return;
    this.#dirty = true;
    this.#o.onChange?.();
    this.#wake?.();
  }

  #took(ttlMs: number): void {
    this.#lastHeartbeatMs = this.#o.clock.now();
    this.#ttlMs = ttlMs;
  }

  async #sendEvents(signal: AbortSignal): Promise<void> {
    if (this.#events.length === 0) return;
    const events = this.#events.splice(0);
    await this.#o.link.emitNodeEvents(this.#node.ID, events, { signal });
  }

  async #wait(ms: number, signal: AbortSignal): Promise<"time" | "change"> {
    if (this.#dirty) return "change";
    const stop = new AbortController();
    const changed = new Promise<"change">((resolve) => {
      this.#wake = () => resolve("change");
    });
    const timed = sleep(ms, { signal: AbortSignal.any([signal, stop.signal]), clock: this.#o.clock }).then(
      () => "time" as const,
      () => "time" as const,
    );
    const result = await Promise.race([changed, timed]);
    this.#wake = undefined;
    stop.abort();
    return result;
  }
}

function same(a: DriverInfo, b: DriverInfo): boolean {
  return (
    a.Detected === b.Detected &&
    a.Healthy === b.Healthy &&
    a.HealthDescription === b.HealthDescription &&
    JSON.stringify(a.Attributes) === JSON.stringify(b.Attributes)
  );
}

/** The node with one driver's attributes replaced; those of a driver that is gone vanish. */
function withDriver(node: Node, change: DriverChange): Node {
  const prefix = `driver.${change.name}`;
  const kept = Object.entries(node.Attributes ?? {}).filter(([key]) => key !== prefix && !key.startsWith(`${prefix}.`));
  const usable = change.info.Detected && change.info.Healthy;
  // Nomad's servers and jobs look for "1" here, whatever the driver itself says.
  const own = usable ? { ...change.attributes, [prefix]: "1" } : {};
  const next = {
    ...node,
    Attributes: { ...Object.fromEntries(kept), ...own },
    Drivers: { ...node.Drivers, [change.name]: change.info },
  };
  return { ...next, ComputedClass: computedClass(next) };
}
