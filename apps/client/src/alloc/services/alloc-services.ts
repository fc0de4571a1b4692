import { createBackoff, sleep, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import type { Allocation, Service } from "@outrider/nomad-structs";
import { findGroup, findTask } from "../../task/task-lookup.ts";
import { serviceAddress } from "./service-address.ts";
import type { ServiceEntry, ServiceRegistrar } from "./service-registrar.ts";

const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** What the services of one allocation need. */
export interface AllocServicesOptions {
  readonly registrar: ServiceRegistrar;
  readonly alloc: () => Allocation;
  readonly datacenter: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Keeps the list of services in step with one allocation: those of the group under the empty name, those of a task under its. A change that
 * fails is tried again until it succeeds or is overtaken; it never fails the allocation (a task that runs must not die of it).
 */
export class AllocServices {
  readonly #o: AllocServicesOptions;
  readonly #wanted = new Map<string, readonly ServiceEntry[]>();
  readonly #listed = new Set<string>();
  readonly #closed = new AbortController();
  #busy: Promise<void> | undefined;
  #again = false;
  #failing = false;

  constructor(o: AllocServicesOptions) {
    this.#o = o;
  }

  /** Lists the services of the group, or of a task. Resolves when they are listed or a first try has failed. */
  add(owner: string, replace: (text: string) => string): Promise<void> {
    this.#wanted.set(owner, this.#entries(owner, replace));
    return this.#sync();
  }

  /** Takes them off the list. */
  remove(owner: string): Promise<void> {
    if (!this.#wanted.has(owner)) return Promise.resolve();
    this.#wanted.set(owner, []);
    return this.#sync();
  }

  /** Ends trying; the list stays as it is. */
  close(): void {
    this.#closed.abort();
  }

  #entries(owner: string, replace: (text: string) => string): readonly ServiceEntry[] {
    const alloc = this.#o.alloc();
    const services = owner === "" ? findGroup(alloc)?.Services : findTask(alloc, owner)?.Services;
    return (services ?? [])
      .filter((s) => s.Provider === "nomad")
      .flatMap((s) => this.#entry(alloc, owner, s, replace) ?? []);
  }

  #entry(
    alloc: Allocation,
    owner: string,
    service: Service,
    replace: (text: string) => string,
  ): ServiceEntry | undefined {
    const name = replace(service.Name);
    const found =
      service.PortLabel === ""
        ? { host: replace(service.Address) || "127.0.0.1", port: 0 }
        : serviceAddress(alloc, service, service.PortLabel, replace);
    if (found === undefined) {
      this.#o.logger.error(
        { service: name, port: service.PortLabel },
        "a service names a port that the allocation has not: it is not listed",
      );
      return undefined;
    }
    return {
      ID: `_nomad-task-${alloc.ID}-${owner === "" ? `group-${alloc.TaskGroup}` : owner}-${name}-${service.PortLabel}`,
      ServiceName: name,
      Namespace: alloc.Namespace,
      NodeID: alloc.NodeID,
      Datacenter: this.#o.datacenter(),
      JobID: alloc.JobID,
      AllocID: alloc.ID,
      Tags: (service.Tags ?? []).map(replace),
      Address: found.host,
      Port: found.port,
    };
  }

  #sync(): Promise<void> {
    this.#again = true;
    // The loop that tries again takes the newest wishes along.
    if (this.#failing) return Promise.resolve();
    return new Promise((resolve) => {
      const before = this.#busy;
      this.#busy = this.#run(before, resolve);
    });
  }

  async #run(before: Promise<void> | undefined, tried: () => void): Promise<void> {
    await before;
    const waits = createBackoff({ base: RETRY_MS, limit: MAX_RETRY_MS });
    while (this.#again && !this.#closed.signal.aborted) {
      this.#again = false;
      try {
        await this.#once();
        this.#failing = false;
      } catch (err) {
        this.#again = true;
        this.#failing = true;
        if (waits.attempt === 0)
          this.#o.logger.warn({ err }, "the list of services could not be changed; it is tried again");
        tried();
        await sleep(waits.next(), { clock: this.#o.clock, signal: this.#closed.signal, ref: false }).catch(
          () => undefined,
        );
      }
    }
    tried();
  }

  async #once(): Promise<void> {
    const entries = [...this.#wanted.values()].flat();
    const ids = new Set(entries.map((e) => e.ID));
    const gone = [...this.#listed].filter((id) => !ids.has(id));
    if (gone.length > 0) await this.#o.registrar.deregister(gone);
    for (const id of gone) this.#listed.delete(id);
    if (entries.length > 0) await this.#o.registrar.register(entries);
    for (const id of ids) this.#listed.add(id);
  }
}
