import { taskEvent, type Allocation, type TaskState } from "@outrider/nomad-structs";
import { make, TaskStateStruct } from "@outrider/nomad-structs";
import { expect, it } from "vitest";
import {
  simulatedRunnerFactory,
  type AllocRunner,
  type AllocRunnerConfig,
  type AllocRunnerFactory,
  type AllocUpdate,
} from "../src/index.ts";
import { anAlloc, testConfig } from "./support.ts";

// What somebody may write who wants every allocation to be a log line: a runner in about forty lines, on top of the simulated one for all that
// it does not care about.
const loggingFactory =
  (log: string[]): AllocRunnerFactory =>
  async (config: AllocRunnerConfig): Promise<AllocRunner> => {
    const { alloc, clock, stateUpdater } = config;
    let state: TaskState = make(TaskStateStruct, { State: "pending" });
    let desired = alloc;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const report = (): AllocUpdate => ({
      ID: alloc.ID,
      NodeID: alloc.NodeID,
      ClientStatus: state.State === "dead" ? "complete" : state.State,
      ClientDescription: "logged",
      TaskStates: { web: structuredClone(state) },
      DeploymentStatus: null,
      NetworkStatus: null,
    });
    const enter = (to: string, type: "Started" | "Killed"): void => {
      log.push(`${alloc.JobID} ${to}`);
      state = { ...state, State: to, Events: [...(state.Events ?? []), taskEvent(type, clock.now())] };
      stateUpdater.allocStateUpdated(report());
    };
    const base = await simulatedRunnerFactory()(config);
    const mine: Partial<AllocRunner> = {
      alloc: () => desired,
      async run() {
        enter("running", "Started");
        await ended;
      },
      update(next: Allocation) {
        desired = next;
        if (next.DesiredStatus !== "stop") return;
        enter("dead", "Killed");
        end();
      },
    };
    const bound = (value: unknown): unknown => (typeof value === "function" ? (value.bind(base) as unknown) : value);
    return new Proxy(base, { get: (target, key) => Reflect.get(mine, key) ?? bound(Reflect.get(target, key)) });
  };

it("a user's own runner is driven through the factory like any other", async () => {
  const log: string[] = [];
  const factories: AllocRunnerFactory[] = [
    loggingFactory(log),
    simulatedRunnerFactory({ setup: [], startMs: 1, stopMs: 1 }),
  ];
  for (const factory of factories) {
    const config = testConfig(anAlloc());
    const runner = await factory(config);
    const running = runner.run();
    await config.clock.advance(10);
    expect(config.updates.at(-1)?.ClientStatus).toBe("running");
    expect(runner.getUpdatePriority(config.updates.at(-1)!)).toBe("typical");
    runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 11 });
    await config.clock.advance(10);
    await running;
    expect(config.updates.at(-1)?.ClientStatus).toBe("complete");
  }
  expect(log).toEqual(["job running", "job dead"]);
});
