import { statfs } from "node:fs/promises";
import type { Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";

/** Limits of the client's garbage collection (client-runtime.md 9.2). */
export interface ClientGcLimits {
  readonly intervalMs: number;
  readonly diskUsagePercent: number;
  readonly inodeUsagePercent: number;
  readonly maxAllocs: number;
  readonly parallelDestroys: number;
}

/** Nomad's defaults. */
export const DEFAULT_CLIENT_GC: ClientGcLimits = {
  intervalMs: 60_000,
  diskUsagePercent: 80,
  inodeUsagePercent: 70,
  maxAllocs: 50,
  parallelDestroys: 2,
};

interface ClientGcOptions {
  readonly limits: ClientGcLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly allocRoot: string;
  /** Allocations that are not destroyed. */
  readonly count: () => number;
  /** Destroys one and resolves when it is gone. */
  readonly destroy: (id: string) => Promise<void>;
  readonly usage?: (dir: string) => Promise<{ readonly disk: number; readonly inodes: number }>;
}

/** Removes ended allocations, oldest first, while there are too many or the disk is too full. Never in the way of starting new ones. */
export class ClientGc implements AsyncDisposable {
  readonly #o: ClientGcOptions;
  /** Ended and known to the server, in the order in which they ended. */
  readonly #ended = new Set<string>();
  readonly #busy = new Map<string, Promise<void>>();
  #pass: Promise<void> | undefined;
  #timer: unknown;
  #stopped = false;

  constructor(o: ClientGcOptions) {
    this.#o = o;
  }

  start(): void {
    this.#arm();
  }

  /** An allocation has ended, and the server knows: it may go when room is needed. */
  markEligible(id: string): void {
    if (this.#busy.has(id)) return;
    this.#ended.add(id);
    this.trigger();
  }

  isEligible(id: string): boolean {
    return this.#ended.has(id);
  }

  /** Looks for room now. */
  trigger(o: { readonly regular?: boolean } = {}): void {
    if (this.#stopped || this.#pass !== undefined) return;
    this.#pass = this.#run(o.regular ?? false).finally(() => (this.#pass = undefined));
  }

  /** Removes one at once, ended or not (the server has removed it). */
  remove(id: string): Promise<void> {
    this.#ended.delete(id);
    const under = this.#busy.get(id);
    if (under !== undefined) return under;
    const work = this.#o
      .destroy(id)
      .catch((reason: unknown) =>
        this.#o.logger.error({ err: reason, allocId: id }, "an allocation could not be removed"),
      )
      .finally(() => this.#busy.delete(id));
    this.#busy.set(id, work);
    return work;
  }

  /** Removes everything that has ended. */
  async collectAll(): Promise<void> {
    for (let next = first(this.#ended); next !== undefined; next = first(this.#ended)) await this.remove(next);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#o.clock.clearTimeout(this.#timer);
    await this.#pass;
  }

  #arm(): void {
    this.#timer = this.#o.clock.setTimeout(() => {
      this.trigger({ regular: true });
      if (!this.#stopped) this.#arm();
    }, this.#o.limits.intervalMs);
  }

  async #run(regular: boolean): Promise<void> {
    const { limits, logger } = this.#o;
    try {
      for (;;) {
        if (this.#stopped) return;
        const reason = await this.#reason();
        if (reason === undefined) return;
        const chosen = [...this.#ended].slice(0, limits.parallelDestroys);
        if (chosen.length === 0) {
          // Once a minute is enough: every start and end would say the same.
          const level = !regular ? "debug" : this.#o.count() < 2 * limits.maxAllocs ? "info" : "warn";
          logger[level]({ reason, allocs: this.#o.count() }, "nothing is left that could be removed to make room");
          return;
        }
        logger.debug({ reason, allocs: chosen }, "removing ended allocations");
        await Promise.all(chosen.map((id) => this.remove(id)));
      }
    } catch (reason) {
      logger.warn({ err: reason }, "looking for room failed");
    }
  }

  async #reason(): Promise<string | undefined> {
    const { limits } = this.#o;
    if (this.#o.count() > limits.maxAllocs) return `more than ${limits.maxAllocs} allocations`;
    const usage = await (this.#o.usage ?? usageOf)(this.#o.allocRoot);
    if (usage.disk > limits.diskUsagePercent) return `disk use of ${Math.round(usage.disk)} %`;
    if (usage.inodes > limits.inodeUsagePercent) return `inode use of ${Math.round(usage.inodes)} %`;
    return undefined;
  }
}

function first(ids: ReadonlySet<string>): string | undefined {
  for (const id of ids) return id;
  return undefined;
}

async function usageOf(dir: string): Promise<{ readonly disk: number; readonly inodes: number }> {
  const disk = await statfs(dir);
  const used = disk.blocks - disk.bfree;
  return {
    disk: used + disk.bavail === 0 ? 0 : (100 * used) / (used + disk.bavail),
    inodes: disk.files === 0 ? 0 : (100 * (disk.files - disk.ffree)) / disk.files,
  };
}
