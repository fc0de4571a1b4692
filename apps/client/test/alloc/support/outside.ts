import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AllocationStruct, make, type Allocation } from "@outrider/nomad-structs";
import type { ClientAllocRunnerConfig } from "../../../src/alloc/index.ts";
import type { VariableSource } from "../../../src/task/template/variable-source.ts";
import { fakeAllocDir } from "./fake-alloc-dir.ts";
import { ALLOC_ID } from "./harness.ts";

/** Variables in memory. */
export class FakeVariables implements VariableSource {
  readonly #items = new Map<string, Readonly<Record<string, string>>>();
  readonly #listeners = new Set<() => void>();

  get(_namespace: string, path: string): Readonly<Record<string, string>> | undefined {
    return this.#items.get(path);
  }

  set(path: string, items: Readonly<Record<string, string>> | undefined): void {
    if (items === undefined) this.#items.delete(path);
    else this.#items.set(path, items);
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  get watched(): number {
    return this.#listeners.size;
  }
}

export interface Outside {
  readonly variables: FakeVariables;
  readonly config: Partial<ClientAllocRunnerConfig>;
  readonly resources: Allocation["AllocatedResources"];
  /** The recorded job with ports that are closed, or answer nothing, here. */
  job(recorded: unknown): unknown;
  close(): void;
}

async function listen(): Promise<Server> {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
}

/** Real folders, a port that answers nothing, one that is closed, and variables. */
export async function openOutside(): Promise<Outside> {
  const root = mkdtempSync(join(tmpdir(), "outrider-replay-"));
  const silent = await listen();
  const closed = await listen();
  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  const ports = { silent: portOf(silent), closed: portOf(closed) };
  closed.close();
  const variables = new FakeVariables();
  variables.set("nomad/jobs/ev-template", { color: "red" });
  const granted = {
    Cpu: { CpuShares: 20, ReservedCores: null },
    Memory: { MemoryMB: 32, MemoryMaxMB: 0 },
    Networks: null,
    Devices: null,
  };
  const shared = { DiskMB: 300, Ports: [{ Label: "p", Value: ports.closed, To: 0, HostIP: "127.0.0.1" }] };
  return {
    variables,
    config: { variables, newAllocDir: () => fakeAllocDir(ALLOC_ID, { root }) },
    resources: make(AllocationStruct, { AllocatedResources: { Tasks: { main: granted }, Shared: shared } })
      .AllocatedResources,
    job: (recorded) =>
      JSON.parse(
        JSON.stringify(recorded).replaceAll(":34640/", `:${ports.closed}/`).replaceAll(":34641/", `:${ports.silent}/`),
      ) as unknown,
    close: () => {
      silent.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
