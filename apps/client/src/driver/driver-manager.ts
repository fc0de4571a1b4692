import type { DriverPlugin, DriverTaskEvent } from "@outrider/plugin-driver";
import type { DriverInfo } from "@outrider/nomad-structs";

/** A live driver instance. A new `generation` means another plugin process: handles of older ones are stale. */
export interface DriverInstance {
  readonly name: string;
  readonly generation: number;
  readonly plugin: DriverPlugin;
  /** Settles when this instance's process or connection has gone. */
  readonly gone: Promise<void>;
}

/** What the manager tells the node about one driver. */
export interface DriverChange {
  readonly name: string;
  readonly info: DriverInfo;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Catalogue of drivers: dispenses instances, fingerprints them, routes their task events. */
export interface DriverManager extends AsyncDisposable {
  /** Starts fingerprinting; resolves when every driver has answered once or `50 s` passed. */
  start(signal: AbortSignal): Promise<void>;
  readonly names: readonly string[];
  /** A living instance, started or reattached if need be (single flight, with backoff). Rejects with `ERR_OUTRIDER_DRIVER_UNKNOWN` for a name that is not in the catalogue. */
  dispense(name: string, o: { signal: AbortSignal; newerThan?: number }): Promise<DriverInstance>;
  onChange(listener: (change: DriverChange) => void): Disposable;
  /** Task events of all drivers (OOM and the like), keyed by alloc id and task name. */
  onTaskEvent(listener: (event: DriverTaskEvent) => void): Disposable;
}
