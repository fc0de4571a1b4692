/** Where instances of one driver come from. */
import type { DriverPlugin } from "@outrider/plugin-driver";

/** A driver that answers. */
export interface OpenedDriver {
  readonly plugin: DriverPlugin;
  /** Resolves when its process or the connection to it is gone. */
  readonly gone: Promise<void>;
  /** Lets go of it: a process of its own is ended, a detached one stays. Tasks live on in any case. */
  close(): Promise<void>;
}

/** Opens instances of one driver. */
export interface DriverSource {
  readonly name: string;
  /** Starts the driver or attaches to the one that runs. */
  open(signal: AbortSignal): Promise<OpenedDriver>;
}
