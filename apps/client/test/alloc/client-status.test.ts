import {
  AllocationStruct,
  JobStruct,
  make,
  TaskStateStruct,
  TaskResourceUsageStruct,
  type TaskState,
} from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { allocReport } from "../../src/alloc/alloc-report.ts";
import { sumUsage } from "../../src/alloc/alloc-stats.ts";
import { clientStatusOf } from "../../src/alloc/client-status.ts";

const state = (State: string, Failed = false): TaskState => make(TaskStateStruct, { State, Failed });

describe("client status", () => {
  const rows: Array<[states: string, status: string, description: string]> = [
    ["", "", ""],
    ["pending", "pending", "No tasks have started"],
    ["pending running", "running", "Tasks are running"],
    ["dead pending", "pending", "No tasks have started"],
    ["dead running", "running", "Tasks are running"],
    ["dead dead", "complete", "All tasks have completed"],
    ["failed running", "failed", "Failed tasks"],
    ["failed pending", "failed", "Failed tasks"],
  ];
  for (const [states, status, description] of rows) {
    it(`of ${states === "" ? "no task" : states} is ${JSON.stringify(status)}`, () => {
      const list = states
        .split(" ")
        .filter(Boolean)
        .map((s) => (s === "failed" ? state("dead", true) : state(s)));
      expect(clientStatusOf(list)).toEqual({ status, description });
    });
  }

  it("is overridden by a forced one, then by max_run_duration", () => {
    const forced = { status: "failed", description: "x" };
    expect(clientStatusOf([state("running")], { forced, maxRunExceeded: true })).toBe(forced);
    expect(clientStatusOf([state("dead", true)], { maxRunExceeded: true })).toEqual({
      status: "complete",
      description: "allocation exceeded max_run_duration",
    });
  });
});

describe("a report", () => {
  const dns = { Servers: ["1.1.1.1"], Searches: null, Options: null };
  const alloc = {
    ...make(AllocationStruct, { ID: "a", NodeID: "n", TaskGroup: "g", DeploymentID: "d" }),
    Job: make(JobStruct, { TaskGroups: [{ Name: "g", Networks: [{ Mode: "host", DNS: dns }] }] }),
  };
  const failed = { status: "failed", description: "Failed tasks" };

  it("of an end sets what rescheduling counts from, and the health nobody judged", () => {
    const states = { t: state("dead", true), never: state("pending") };
    const report = allocReport({ alloc, states, status: failed, deployment: null, network: null, nowMs: 0 });
    expect(report.TaskStates?.["never"]?.FinishedAt).toBe("1970-01-01T00:00:00Z");
    expect(states.never.FinishedAt).toBeNull();
    expect(report.DeploymentStatus).toEqual({ Healthy: false, Timestamp: null, Canary: false, ModifyIndex: 0 });
  });

  it("leaves a judgement alone", () => {
    const deployment = { Healthy: true, Timestamp: "2026-01-01T00:00:00Z", Canary: true, ModifyIndex: 3 };
    const report = allocReport({ alloc, states: {}, status: failed, deployment, network: null, nowMs: 0 });
    expect(report.DeploymentStatus).toEqual(deployment);
    expect(report.DeploymentStatus).not.toBe(deployment);
  });

  it("shows the group's name servers where the network has none, without writing them into it", () => {
    const network = { InterfaceName: "eth0", Address: "10.0.0.1", AddressIPv6: "", DNS: null };
    const report = allocReport({ alloc, states: {}, status: failed, deployment: null, network, nowMs: 0 });
    expect(report.NetworkStatus).toEqual({ ...network, DNS: dns });
    expect(network.DNS).toBeNull();
  });
});

describe("usage", () => {
  const usage = (rss: number, measured: string[] | null, Timestamp: number) =>
    make(TaskResourceUsageStruct, {
      ResourceUsage: {
        MemoryStats: { RSS: rss, Measured: measured },
        CpuStats: { Percent: 10 },
        DeviceStats: [{ d: rss }],
      },
      Timestamp,
    });

  it("lists every sample and sums those of running tasks", () => {
    const sum = sumUsage([
      { task: "a", running: true, usage: usage(5, ["RSS"], 7) },
      { task: "b", running: true, usage: usage(6, ["RSS", "Swap"], 9) },
      { task: "c", running: false, usage: usage(100, ["Cache"], 20) },
    ]);
    expect(Object.keys(sum.Tasks ?? {})).toEqual(["a", "b", "c"]);
    expect(sum.ResourceUsage?.MemoryStats).toMatchObject({ RSS: 11, Measured: ["RSS", "Swap"] });
    expect(sum.ResourceUsage?.CpuStats).toMatchObject({ Percent: 20, Measured: null });
    expect(sum.ResourceUsage?.DeviceStats).toEqual([{ d: 5 }, { d: 6 }]);
    expect(sum.Timestamp).toBe(9);
  });

  it("of nothing is zero, as Nomad answers it", () => {
    expect(sumUsage([])).toMatchObject({
      Tasks: {},
      Timestamp: 0,
      ResourceUsage: { MemoryStats: { RSS: 0, Measured: null } },
    });
  });

  it("copes with samples without parts", () => {
    expect(
      sumUsage([{ task: "a", running: true, usage: make(TaskResourceUsageStruct, { Timestamp: 3 }) }]),
    ).toMatchObject({ Timestamp: 3 });
  });
});
