import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import { AllocationStruct, JobStruct, make, type Allocation } from "@outrider/nomad-structs";
import type { AllocRunnerConfig, AllocUpdate } from "../src/index.ts";

export function anAlloc(o: { readonly type?: string; readonly tasks?: readonly string[] } = {}): Allocation {
  const { type = "service", tasks = ["web"] } = o;
  const Job = make(JobStruct, {
    ID: "job",
    Name: "job",
    Type: type,
    TaskGroups: [{ Name: "g", Tasks: tasks.map((Name) => ({ Name, Driver: "mock" })) }],
  });
  const alloc = make(AllocationStruct, {
    ID: "5456bd7a-9fc0-c0dd-6131-cbee77f57577",
    NodeID: "node-1",
    JobID: "job",
    TaskGroup: "g",
    DesiredStatus: "run",
    ClientStatus: "pending",
    DeploymentID: type === "service" ? "deployment-1" : "",
    AllocModifyIndex: 10,
  });
  return { ...alloc, Job };
}

export interface TestConfig extends AllocRunnerConfig {
  readonly clock: ManualClock;
  readonly updates: AllocUpdate[];
}

export function testConfig(alloc: Allocation = anAlloc()): TestConfig {
  const updates: AllocUpdate[] = [];
  return {
    alloc,
    logger: noopLogger,
    clock: new ManualClock(),
    state: { get: () => undefined, list: () => [], write: async () => undefined },
    stateUpdater: { allocStateUpdated: (update) => void updates.push(update) },
    updates,
  };
}
