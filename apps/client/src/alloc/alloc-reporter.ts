import {
  createBroadcaster,
  updatePriority,
  type AckState,
  type AllocState,
  type AllocUpdate,
  type BroadcastListener,
  type UpdatePriority,
} from "@outrider/alloc-runner";
import { timeText, type Allocation, type AllocNetworkStatus } from "@outrider/nomad-structs";
import type { ClientAllocRunnerConfig } from "../task/ports.ts";
import type { TaskRunner } from "../task/task-runner.ts";
import { copyPlain } from "../copy-plain.ts";
import { allocReport } from "./alloc-report.ts";
import { clientStatusOf, type ClientStatus } from "./client-status.ts";
import { allocKeys } from "./state-keys.ts";

export interface AllocReporterOptions {
  readonly config: Pick<ClientAllocRunnerConfig, "alloc" | "clock" | "state" | "stateUpdater">;
  readonly alloc: () => Allocation;
  readonly runners: () => readonly TaskRunner[];
}

/** What others are told of an allocation: only durable task states, with the status, health and network that go with them. */
export class AllocReporter {
  readonly #o: AllocReporterOptions;
  readonly #broadcaster = createBroadcaster<AllocUpdate>();
  #ack: AckState | undefined;
  #forced: ClientStatus | undefined;
  #deployment: Allocation["DeploymentStatus"];
  #soon = false;
  #closed = false;
  maxRunExceeded = false;
  network: AllocNetworkStatus | null = null;

  constructor(options: AllocReporterOptions) {
    this.#o = options;
    this.#deployment = options.config.alloc.DeploymentStatus;
  }

  /** Takes up what a former process left. */
  restore(): void {
    const { state, alloc } = this.#o.config;
    const keys = allocKeys(alloc.ID);
    this.#deployment = state.get<NonNullable<Allocation["DeploymentStatus"]>>(keys.deployStatus) ?? this.#deployment;
    this.network = state.get<AllocNetworkStatus>(keys.networkStatus) ?? null;
  }

  get deployment(): Allocation["DeploymentStatus"] {
    return this.#deployment;
  }

  get status(): ClientStatus {
    const states = this.#o.runners().map((runner) => runner.record.durable);
    return clientStatusOf(states, { forced: this.#forced, maxRunExceeded: this.maxRunExceeded });
  }

  force(status: ClientStatus): void {
    this.#forced = status;
    this.report();
  }

  acknowledge(state: AckState): void {
    this.#ack = copyPlain(state);
  }

  priority(update: AllocUpdate): UpdatePriority {
    return updatePriority(update, this.#ack);
  }

  listen(): BroadcastListener<AllocUpdate> {
    return this.#broadcaster.listen();
  }

  /** Keeps a health before it is told; null takes it back. */
  async setHealth(healthy: boolean | null): Promise<void> {
    const { clock, state, alloc } = this.#o.config;
    const { Canary = false, ModifyIndex = 0 } = this.#deployment ?? {};
    const Timestamp = healthy === null ? null : timeText(clock.now());
    this.#deployment = { Healthy: healthy, Timestamp, Canary, ModifyIndex };
    await state.write({ put: { [allocKeys(alloc.ID).deployStatus]: this.#deployment } });
  }

  state(): AllocState {
    const report = this.#make();
    return {
      clientStatus: report.ClientStatus,
      clientDescription: report.ClientDescription,
      deploymentStatus: report.DeploymentStatus,
      taskStates: report.TaskStates ?? {},
      networkStatus: report.NetworkStatus,
    };
  }

  /** Tells everybody, soon and once for many changes. */
  reportSoon(): void {
    if (this.#soon) return;
    this.#soon = true;
    queueMicrotask(() => {
      this.#soon = false;
      this.report();
    });
  }

  report(): void {
    if (this.#closed) return;
    const report = this.#make();
    this.#o.config.stateUpdater.allocStateUpdated(report);
    this.#broadcaster.send(report);
  }

  close(): void {
    this.#closed = true;
    this.#broadcaster.close();
  }

  #make(): AllocUpdate {
    return allocReport({
      alloc: this.#o.alloc(),
      states: Object.fromEntries(this.#o.runners().map((runner) => [runner.name, runner.record.durable])),
      status: this.status,
      deployment: this.#deployment,
      network: this.network,
      nowMs: this.#o.config.clock.now(),
    });
  }
}
