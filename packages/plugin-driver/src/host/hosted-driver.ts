/** A driver in another process, with its end. */
import { isPluginShutdown } from "../contract/errors.ts";
import { GRPCController } from "../gen/go_plugin_pb.js";
import type { ProcessIdentity } from "../process/process-identity.ts";
import type { PluginAddress, PluginChannel } from "./channel.ts";
import { DriverClient } from "./driver-client.ts";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { CallTimeouts } from "./timeouts.ts";

/** How the process of a plugin ended; both null when that is not known (a plugin that was attached to). @public */
export interface PluginExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What a later host needs to attach to a running plugin. Plain JSON. @public */
export interface ReattachRecord extends PluginAddress {
  readonly protocol: "grpc";
  /** Undefined where the system has no `/proc`, and for plugins attached to without it. */
  readonly process?: ProcessIdentity;
  /** The plugin speaks TLS with a certificate that only its launcher had: nobody can attach to it. */
  readonly tls?: true;
}

/** How a hosted driver ends its process. */
export interface ProcessControl {
  /** Resolves when the process is known to be gone. */
  readonly exited: Promise<PluginExit>;
  kill(): void;
  /** Lets go of pipes and handles so that this process may end while the plugin lives on. */
  release(): void;
}

/** Options of {@link HostedDriver}. */
export interface HostedDriverOptions {
  readonly channel: PluginChannel;
  readonly reattach: ReattachRecord;
  readonly timeouts: CallTimeouts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly control?: ProcessControl;
}

/**
 * A driver plugin that this host launched or attached to: the driver contract, plus its process. `await using` ends a launched
 * plugin and detaches from an attached one.
 * @public
 */
export class HostedDriver extends DriverClient implements AsyncDisposable {
  /** For the next host, to be kept by the caller. */
  readonly reattach: ReattachRecord;
  /** Resolves when the process or the connection is gone; every call rejects with `PluginShutdownError` then. */
  readonly gone: Promise<void>;
  /** How the process ended, when this host launched it. */
  readonly exited: Promise<PluginExit> | undefined;
  readonly #o: HostedDriverOptions;
  #stopping: Promise<void> | undefined;

  /** @internal */
  constructor(o: HostedDriverOptions) {
    super(o.channel, { timeouts: o.timeouts, logger: o.logger, monotonic: () => o.clock.monotonic() });
    this.#o = o;
    this.reattach = o.reattach;
    this.gone = o.channel.gone;
    this.exited = o.control?.exited;
    void o.control?.exited.then(() => o.channel.close());
  }

  get pid(): number | undefined {
    return this.reattach.process?.pid;
  }

  /** Whether the process or the connection is known to be gone. */
  get isGone(): boolean {
    return this.#o.channel.isGone;
  }

  /** Closes the connection and leaves the plugin running. */
  detach(): void {
    this.#o.channel.close();
    this.#o.control?.release();
  }

  /**
   * Ends the plugin process: asks it, waits, then kills it. Tasks live on. Bounded in time, never rejects, idempotent. A plugin that
   * was attached to is only asked, since its pid may be another's by now.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { channel, control, timeouts, logger } = this.#o;
    try {
      await channel.unary(GRPCController.method.shutdown, {}, { timeoutMs: timeouts.controllerMs });
    } catch (reason) {
      // The process may be gone before its answer is here.
      if (!isPluginShutdown(reason)) logger.debug({ err: reason }, "plugin did not answer the shutdown call");
    }
    // Hanging up tells the plugin that we have its answer. One that was attached to is watched by its connection.
    if (control !== undefined) channel.close();
    const end = control?.exited ?? channel.gone;
    if (await this.#within(end, timeouts.exitMs)) return this.detach();
    if (control !== undefined) {
      logger.warn({ pid: this.pid }, "plugin did not exit after the shutdown call, killing it");
      control.kill();
      await this.#within(control.exited, timeouts.exitMs);
    }
    this.detach();
  }

  async #within(end: Promise<unknown>, ms: number): Promise<boolean> {
    let timer: unknown;
    const limit = new Promise<boolean>((resolve) => {
      timer = this.#o.clock.setTimeout(() => resolve(false), ms);
    });
    const ended = await Promise.race([end.then(() => true), limit]);
    this.#o.clock.clearTimeout(timer);
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#o.control === undefined) this.detach();
    else await this.stop();
  }
}
