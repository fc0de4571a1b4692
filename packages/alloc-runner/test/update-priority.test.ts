import { make, TaskStateStruct } from "@outrider/nomad-structs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { updatePriority, type AckState } from "../src/index.ts";
import { instantNs } from "../src/instant.ts";

const event = {
  Type: "Started",
  Time: 1_767_225_600_000_000_000,
  DisplayMessage: "Task started by client",
  Details: { a: "1" },
};
const task = make(TaskStateStruct, { State: "running", StartedAt: "2026-01-01T00:00:00Z", Events: [event] });
const base: AckState = {
  ClientStatus: "running",
  ClientDescription: "Tasks are running",
  DeploymentStatus: { Healthy: true, Timestamp: "2026-01-01T00:00:10Z", Canary: false, ModifyIndex: 0 },
  TaskStates: { web: task },
  NetworkStatus: null,
};
type Change = (s: AckState) => AckState;
const withTask =
  (change: object): Change =>
  (s) => ({ ...s, TaskStates: { web: { ...task, ...change } } });
const withEvent =
  (change: object): Change =>
  (s) => ({ ...s, TaskStates: { web: { ...task, Events: [{ ...task.Events![0]!, ...change }] } } });

describe("priority of an update", () => {
  it("is urgent for a first report of a failure, else typical (hashicorp/nomad#17541)", () => {
    expect(updatePriority({ ...base, ClientStatus: "failed" }, undefined)).toBe("urgent");
    expect(updatePriority(base, undefined)).toBe("typical");
  });

  it("is none for an equal state, also after a trip through JSON", () => {
    expect(updatePriority(base, base)).toBe("none");
    expect(updatePriority(JSON.parse(JSON.stringify(base)) as AckState, base)).toBe("none");
  });

  const rows: Array<[title: string, change: Change, priority: string]> = [
    ["client status", (s) => ({ ...s, ClientStatus: "pending" }), "urgent"],
    ["client description", (s) => ({ ...s, ClientDescription: "other" }), "typical"],
    ["no health", (s) => ({ ...s, DeploymentStatus: null }), "typical"],
    ["health", (s) => ({ ...s, DeploymentStatus: { ...s.DeploymentStatus!, Healthy: null } }), "typical"],
    ["health timestamp", (s) => ({ ...s, DeploymentStatus: { ...s.DeploymentStatus!, Timestamp: null } }), "typical"],
    ["canary", (s) => ({ ...s, DeploymentStatus: { ...s.DeploymentStatus!, Canary: true } }), "typical"],
    ["health index", (s) => ({ ...s, DeploymentStatus: { ...s.DeploymentStatus!, ModifyIndex: 4 } }), "typical"],
    [
      "address",
      (s) => ({ ...s, NetworkStatus: { InterfaceName: "eth0", Address: "10.0.0.1", AddressIPv6: "", DNS: null } }),
      "typical",
    ],
    [
      "empty network",
      (s) => ({
        ...s,
        NetworkStatus: {
          InterfaceName: "",
          Address: "",
          AddressIPv6: "",
          DNS: { Servers: [], Searches: null, Options: [] },
        },
      }),
      "none",
    ],
    ["task name", (s) => ({ ...s, TaskStates: { db: task } }), "typical"],
    ["task count", (s) => ({ ...s, TaskStates: { web: task, db: task } }), "typical"],
    ["no tasks", (s) => ({ ...s, TaskStates: null }), "typical"],
    ["task state", withTask({ State: "dead" }), "typical"],
    ["failed", withTask({ Failed: true }), "typical"],
    ["restarts", withTask({ Restarts: 1 }), "typical"],
    ["paused (not compared by Nomad)", withTask({ Paused: "force_pause" }), "typical"],
    ["last restart", withTask({ LastRestart: "2026-01-01T00:00:00Z" }), "typical"],
    ["started at", withTask({ StartedAt: "2026-01-01T00:00:00.000000001Z" }), "typical"],
    ["the same start in another zone", withTask({ StartedAt: "2026-01-01T01:00:00.000+01:00" }), "none"],
    ["finished at", withTask({ FinishedAt: "2026-01-01T00:00:00Z" }), "typical"],
    ["the zero time as text", withTask({ FinishedAt: "0001-01-01T00:00:00Z" }), "none"],
    ["fewer events", withTask({ Events: [] }), "typical"],
    ["nil events", withTask({ Events: null }), "typical"],
    ["event type", withEvent({ Type: "Killing" }), "typical"],
    ["event time", withEvent({ Time: 5 }), "typical"],
    ["event message", withEvent({ Message: "m" }), "typical"],
    ["event text", withEvent({ DisplayMessage: "m" }), "typical"],
    ["event details", withEvent({ Details: { a: "2" } }), "typical"],
    ["event detail names", withEvent({ Details: { b: "1" } }), "typical"],
    ["no event details", withEvent({ Details: null }), "typical"],
    ["a deprecated field of an event", withEvent({ ExitCode: 3 }), "none"],
  ];
  for (const [title, change, priority] of rows) {
    it(`${priority}: ${title}`, () => {
      expect(updatePriority(change(base), base)).toBe(priority);
      expect(updatePriority(base, change(base))).toBe(priority);
    });
  }
});

describe("instants", () => {
  it("are integer nanoseconds, whatever their form", () => {
    expect(instantNs("2026-01-01T00:00:00.5Z")).toBe(1_767_225_600_500_000_000n);
    expect(instantNs(1_767_225_600_500_000_000)).toBe(1_767_225_600_500_000_000n);
    expect(instantNs(7n)).toBe(7n);
  });

  it("are undefined when not set or not readable", () => {
    for (const value of [
      null,
      undefined,
      "",
      "0001-01-01T00:00:00Z",
      "yesterday",
      "2026-99-99T00:00:00Z",
      Number.NaN,
    ]) {
      expect(instantNs(value)).toBeUndefined();
    }
  });

  it("keep every digit of a nanosecond text", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 0, max: 999_999_999 }), (seconds, ns) => {
        const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(ns).padStart(9, "0")}Z`;
        expect(instantNs(text)).toBe(BigInt(seconds) * 1_000_000_000n + BigInt(ns));
      }),
    );
  });
});
