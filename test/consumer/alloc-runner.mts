import {
  createBroadcaster,
  simulatedRunnerFactory,
  updatePriority,
  type AllocRunner,
  type AllocRunnerFactory,
  type AllocUpdate,
} from "@outrider/alloc-runner";
import { systemClock } from "@outrider/backoff";
import { noopLogger } from "@outrider/foundation";
import { AllocationStruct, JobStruct, make } from "@outrider/nomad-structs";
import { equal } from "./assert.mjs";

export async function allocRunnerUser(): Promise<void> {
  const Job = make(JobStruct, { ID: "j", Type: "batch", TaskGroups: [{ Name: "g", Tasks: [{ Name: "t" }] }] });
  const alloc = { ...make(AllocationStruct, { ID: "a1", TaskGroup: "g", DesiredStatus: "run" }), Job };
  const heard: AllocUpdate[] = [];
  const factory: AllocRunnerFactory = simulatedRunnerFactory({ setup: [], startMs: 1, runForMs: () => 1 });
  const runner: AllocRunner = await factory({
    alloc,
    clock: systemClock,
    logger: noopLogger,
    state: { get: () => undefined, list: () => [], write: async () => {} },
    stateUpdater: { allocStateUpdated: (update) => heard.push(update) },
  });
  await runner.run();
  equal(heard.at(-1)?.ClientStatus, "complete");
  equal(updatePriority(heard.at(-1) as AllocUpdate, undefined), "typical");
  const news = createBroadcaster<number>();
  news.close();
  // @ts-expect-error a factory takes a whole configuration
  const wrong: Parameters<AllocRunnerFactory> = [{ alloc }];
  equal(wrong.length, 1);
}
