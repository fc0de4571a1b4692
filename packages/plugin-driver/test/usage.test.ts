/** Samples on their way, each number under its name. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { TaskResourceUsage } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { TaskStatsSchema } from "../src/gen/driver_pb.js";
import { fromTaskStats, toTaskStats } from "../src/wire/usage.ts";

const CPU_NAMES = ["System Mode", "User Mode", "Total Ticks", "Throttled Periods", "Throttled Time", "Percent"];
const MEMORY_NAMES = ["RSS", "Cache", "Max Usage", "Kernel Usage", "Kernel Max Usage", "Usage", "Swap"];
const usage = (base: number): NonNullable<TaskResourceUsage["ResourceUsage"]> => ({
  CpuStats: {
    SystemMode: base + 0.5,
    UserMode: base + 1.5,
    TotalTicks: base + 2.5,
    ThrottledPeriods: base + 3,
    ThrottledTime: base + 4,
    Percent: base + 5.5,
    Measured: CPU_NAMES,
  },
  MemoryStats: {
    RSS: base + 6,
    Cache: base + 7,
    Swap: base + 8,
    MappedFile: 0,
    Usage: base + 9,
    MaxUsage: base + 10,
    KernelUsage: base + 11,
    KernelMaxUsage: base + 12,
    Measured: MEMORY_NAMES,
  },
  DeviceStats: [],
});
const over = (sample: TaskResourceUsage, nowMs = 0): TaskResourceUsage | string =>
  fromTaskStats(fromBinary(TaskStatsSchema, toBinary(TaskStatsSchema, toTaskStats("t", sample, nowMs))));

describe("a sample", () => {
  it("arrives as it was sent, with every number of the task and of its processes", () => {
    const sample = {
      ResourceUsage: usage(100),
      Timestamp: 1_800_000_000_123_000_000,
      Pids: { "7": usage(200), "8": usage(300) },
    };
    expect(over(sample)).toEqual(sample);
    expect(toTaskStats("t", sample, 0).id).toBe("t");
  });

  it.each([
    ["CpuStats", CPU_NAMES],
    ["MemoryStats", MEMORY_NAMES],
  ] as const)("tells of %s what was measured, by the numbers of the protocol", (part, names) => {
    for (const [number, name] of names.entries()) {
      const one = usage(1);
      const sample = {
        ResourceUsage: { ...one, [part]: { ...one[part], Measured: [name] } },
        Timestamp: 1e18,
        Pids: null,
      };
      const message = toTaskStats("t", sample as TaskResourceUsage, 0).aggResourceUsage;
      expect((part === "CpuStats" ? message?.cpu : message?.memory)?.measuredFields).toEqual([number]);
      expect(over(sample as TaskResourceUsage)).toEqual(sample);
    }
  });

  it("without a time has that of its sending, and nothing measured is nothing", () => {
    const sample = { ResourceUsage: null, Timestamp: 0, Pids: null };
    expect(over(sample, 1_500)).toMatchObject({ Timestamp: 1_500_000_000, Pids: null });
    expect(over({ ...sample, Timestamp: -5 }, 2_000)).toMatchObject({ Timestamp: 2_000_000_000 });
    const empty = usage(0);
    const none = { ...empty, CpuStats: null, MemoryStats: null };
    expect(over({ ResourceUsage: none, Timestamp: 1e18, Pids: {} })).toMatchObject({
      ResourceUsage: { CpuStats: { Percent: 0, Measured: [] }, MemoryStats: { RSS: 0, Measured: [] } },
      Pids: null,
    });
  });

  it("without one of its parts is none, and says which", () => {
    const whole = toTaskStats("t", { ResourceUsage: usage(1), Timestamp: 1e18, Pids: null }, 0);
    expect(fromTaskStats(undefined)).toBe("stats missing");
    expect(fromTaskStats(create(TaskStatsSchema, { aggResourceUsage: {} }))).toBe("timestamp missing");
    delete (whole as { aggResourceUsage?: unknown }).aggResourceUsage;
    expect(fromTaskStats(whole)).toBe("agg_resource_usage missing");
  });
});
