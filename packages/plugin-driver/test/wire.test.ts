import { create } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HclSpec, TaskConfig } from "../src/index.ts";
import {
  isPluginShutdown,
  isTaskNotFound,
  NotImplementedError,
  PluginCallError,
  PluginShutdownError,
  PluginTimeoutError,
  RecoverableError,
  StatsNotImplementedError,
  TaskNotFoundError,
} from "../src/index.ts";
import { TaskConfigSchema } from "../src/gen/driver_pb.js";
import { AttributeSchema } from "../src/gen/structs_pb.js";
import { CPUUsageSchema, FingerprintResponseSchema, TaskStatsSchema, TimestampProbe } from "./support/wire-shapes.ts";
import {
  fromCapabilities,
  fromFingerprint,
  fromNomadConfig,
  fromPluginInfo,
  fromTaskEvent,
  toCapabilities,
  toFingerprint,
  toNomadConfig,
  toPluginInfo,
  toTaskEvent,
} from "../src/wire/driver.ts";
import {
  fromDuration,
  fromTimestamp,
  nameOf,
  toBigInt,
  toDuration,
  toTimestamp,
  toUnsigned,
} from "../src/wire/scalars.ts";
import { fromSpec, toSpec } from "../src/wire/spec.ts";
import { fromStatus, recoverableDetails, StatusError, toStatus } from "../src/wire/status.ts";
import {
  fromInspectResponse,
  fromNetworkSpec,
  fromTaskConfig,
  fromTaskHandle,
  toInspectResponse,
  toNetworkSpec,
  toTaskConfig,
} from "../src/wire/task.ts";
import { fromTaskStats, toTaskStats } from "../src/wire/usage.ts";
import { taskConfig } from "./support/memory-driver.ts";

describe("errors across the border", () => {
  it("are the statuses of a Go driver, bit by bit", () => {
    expect(Buffer.from(recoverableDetails("boom", true)).toString("base64")).toBe(
      "CAkSBGJvb20aUQpLdHlwZS5nb29nbGVhcGlzLmNvbS9oYXNoaWNvcnAubm9tYWQucGx1Z2lucy5zaGFyZWQuc3RydWN0cy5SZWNvdmVyYWJsZUVycm9yEgIIAQ==",
    );
    // An empty value is left out by Go and by us.
    expect(Buffer.from(recoverableDetails("boom", false)).toString("base64")).toContain("CAkSBGJvb20aT");
  });

  it.each<[unknown, number, string]>([
    [new TaskNotFoundError("x"), status.UNKNOWN, "task not found for given id"],
    [new NotImplementedError("ExecTask"), status.UNIMPLEMENTED, "driver does not implement ExecTask"],
    [new StatsNotImplementedError(), status.UNKNOWN, "stats not implemented for driver"],
    [new Error("plain"), status.UNKNOWN, "plain"],
    ["text", status.UNKNOWN, "text"],
    [new PluginShutdownError(), status.UNKNOWN, "plugin is shut down"],
    [new StatusError(status.NOT_FOUND, "unknown service"), status.NOT_FOUND, "unknown service"],
  ])("travel as code and text: %s", (reason, code, details) => {
    expect(toStatus(reason)).toEqual({ code, details });
  });

  it("carry the flag only where Nomad reads it, from anywhere in the chain of causes", () => {
    const nested = new Error("outer", { cause: new RecoverableError("inner", true) });
    expect(toStatus(nested, true)).toMatchObject({ code: status.FAILED_PRECONDITION, details: "outer" });
    expect(toStatus(nested)).toEqual({ code: status.UNKNOWN, details: "outer" });
    expect(toStatus(new Error("plain"), true)).toEqual({ code: status.UNKNOWN, details: "plain" });
    expect(toStatus(new Error("x".repeat(10_000))).details).toHaveLength(4_097);
  });

  it("come back as errors that say what to do", () => {
    const map = (code: number, details: string, metadata?: Metadata): Error =>
      fromStatus({ code, details, metadata }, "x.Driver/Call");
    expect(isTaskNotFound(map(status.NOT_FOUND, "any"))).toBe(true);
    expect(isTaskNotFound(map(status.UNKNOWN, "rpc error: code = Unknown desc = task not found for given id"))).toBe(
      true,
    );
    expect(isTaskNotFound(map(status.INTERNAL, "task not found for given id"))).toBe(false);
    expect(map(status.UNIMPLEMENTED, "")).toBeInstanceOf(NotImplementedError);
    expect(fromStatus({ code: status.UNIMPLEMENTED, details: "" }, "x/TaskStats")).toBeInstanceOf(
      StatsNotImplementedError,
    );
    expect(map(status.UNKNOWN, "plugin is shut down")).toBeInstanceOf(PluginCallError);
    expect(map(status.INTERNAL, "").message).toBe("call failed with status 13");
    expect(isPluginShutdown(new PluginShutdownError())).toBe(true);
    expect(new PluginTimeoutError("x", 1).recoverable).toBe(true);
    const junk = new Metadata();
    junk.set("grpc-status-details-bin", Buffer.from([0xff]));
    expect(map(status.INTERNAL, "x", junk)).toBeInstanceOf(PluginCallError);
    const other = new Metadata();
    // A status without details.
    other.set("grpc-status-details-bin", Buffer.from([0x08, 0x09]));
    expect(map(status.INTERNAL, "x", other)).toBeInstanceOf(PluginCallError);
  });
});

describe("scalars", () => {
  it("never throw on odd numbers", () => {
    expect([toBigInt(undefined), toBigInt(Number.NaN), toBigInt(1.9), toUnsigned(-1), toUnsigned(undefined)]).toEqual([
      0n,
      0n,
      1n,
      0n,
      0n,
    ]);
    expect(nameOf({ a: 0 }, 9, "a")).toBe("a");
    expect([nameOf({ a: 0, b: 1 }, 1, "a"), nameOf({ a: 0, b: 1 }, 0, "b")]).toEqual(["b", "a"]);
    expect([toBigInt(Infinity), toBigInt(-1.9), toBigInt(2 ** 60)]).toEqual([0n, -1n, 2n ** 60n]);
    expect([toUnsigned(Infinity), toUnsigned(Number.NaN), toUnsigned(0), toUnsigned(0.5), toUnsigned(7.9)]).toEqual([
      0n,
      0n,
      0n,
      0n,
      7n,
    ]);
  });

  it("keep milliseconds exactly, and say Go's zero time for none", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 4e12 }), (ms) => {
        expect(Math.round(fromTimestamp(toTimestamp(ms * 1e6)) / 1e6)).toBe(ms);
      }),
    );
    expect(toTimestamp(0).seconds).toBe(-62_135_596_800n);
    expect(toTimestamp(Number.NaN).seconds).toBe(-62_135_596_800n);
    expect([fromTimestamp(undefined), fromTimestamp(toTimestamp(0)), fromDuration(undefined)]).toEqual([0, 0, 0]);
    expect(toTimestamp(-1e6)).toMatchObject({ seconds: -1n, nanos: 999_000_000 });
    expect(fromDuration(toDuration(1500.5))).toBe(1500.5);
    expect(toDuration(1500.5)).toMatchObject({ seconds: 1n, nanos: 500_500_000 });
    expect(toDuration(0)).toMatchObject({ seconds: 0n, nanos: 0 });
    expect(toDuration(-250)).toMatchObject({ seconds: -1n, nanos: 750_000_000 });
    expect(toTimestamp(1_500_000_000)).toMatchObject({ seconds: 1n, nanos: 500_000_000 });
    expect(toTimestamp(-1e9)).toMatchObject({ seconds: -1n, nanos: 0 });
    expect(toTimestamp(-1_500_000_000)).toMatchObject({ seconds: -2n, nanos: 500_000_000 });
    expect(toTimestamp(Infinity)).toMatchObject({ seconds: -62_135_596_800n, nanos: 0 });
    expect(fromTimestamp(toTimestamp(1_500_000_000))).toBe(1_500_000_000);
  });
});

describe("schemas", () => {
  const all: HclSpec = {
    kind: "object",
    attributes: {
      a: { kind: "attr", name: "a", type: "string", required: true },
      b: {
        kind: "block",
        name: "b",
        required: true,
        nested: { kind: "array", values: [{ kind: "literal", value: "1" }] },
      },
      c: { kind: "blockAttrs", name: "c", type: "string", required: false },
      d: { kind: "blockList", name: "d", minItems: 1, maxItems: 2, nested: { kind: "object", attributes: {} } },
      e: { kind: "blockSet", name: "e", minItems: 0, maxItems: 0, nested: { kind: "object", attributes: {} } },
      f: { kind: "blockMap", name: "f", labels: ["x"], nested: { kind: "object", attributes: {} } },
      g: {
        kind: "default",
        primary: { kind: "attr", name: "g", type: "number", required: false },
        default: { kind: "literal", value: "2" },
      },
    },
  };

  it("go there and back", () => {
    expect(fromSpec(toSpec(all))).toEqual(all);
  });

  it("that are no schemas are refused with the place", () => {
    expect(() => fromSpec(undefined)).toThrow("config schema: schema: empty");
    const broken = toSpec(all);
    const { block } = broken;
    if (block.case === "object" && block.value.attributes["b"]?.block.case === "blockValue") {
      Object.assign(block.value.attributes["b"].block.value, { nested: undefined });
    }
    expect(() => fromSpec(broken)).toThrow("config schema: schema.b.nested: empty");
    expect(() => fromSpec(broken)).toThrow(
      expect.objectContaining({ details: { path: "schema.b.nested" } }) as unknown as Error,
    );
    let deep: HclSpec = { kind: "literal", value: "1" };
    for (let i = 0; i < 80; i++) deep = { kind: "array", values: [deep] };
    expect(() => fromSpec(toSpec(deep))).toThrow("nested deeper than 64");
  });
});

describe("messages", () => {
  it("hold every field of a task", () => {
    const config: TaskConfig = taskConfig({
      env: { A: "1" },
      resources: {
        cpuShares: 1,
        memoryMb: 2,
        memoryMaxMb: 3,
        linux: {
          cpuPeriod: 1,
          cpuQuota: 2,
          cpuShares: 3,
          memoryLimitBytes: 4,
          oomScoreAdj: 5,
          cpusetCpus: "0",
          percentTicks: 0.5,
          cpusetCgroup: "/c",
        },
        ports: [{ label: "http", value: 1, to: 2, hostIp: "1.2.3.4" }],
      },
      mounts: [
        { taskPath: "/t", hostPath: "/h", readonly: true, propagationMode: "p", selinuxLabel: "l", requestName: "r" },
      ],
      devices: [{ taskPath: "/t", hostPath: "/h", cgroupPermissions: "rwm" }],
      networkIsolation: { mode: "task", path: "/n", labels: {} },
      dns: { servers: ["1.1.1.1"], searches: ["x"], options: ["y"] },
    });
    const message = toTaskConfig(config);
    const back = fromTaskConfig(message);
    expect(back).toEqual(config);
    // The very message it came from, unknown fields included.
    expect(toTaskConfig(back)).toBe(message);
    const bare = fromTaskConfig(
      toTaskConfig(taskConfig({ resources: { cpuShares: 0, memoryMb: 0, memoryMaxMb: 0, ports: [] } })),
    );
    expect(bare.resources).toEqual({ cpuShares: 0, memoryMb: 0, memoryMaxMb: 0, ports: [] });
    expect(fromTaskHandle(undefined)).toBeUndefined();
    for (const allocatedResources of [undefined, {}, { cpu: {} }, { memory: {} }]) {
      const parts = create(TaskConfigSchema, {
        resources: allocatedResources === undefined ? {} : { allocatedResources },
      });
      expect(fromTaskConfig(parts).resources).toEqual({ cpuShares: 0, memoryMb: 0, memoryMaxMb: 0, ports: [] });
    }
  });

  it("of an inspected task always have result and times", () => {
    const status = { id: "i", name: "n", state: "running", attributes: {} } as const;
    const message = toInspectResponse({ status });
    expect(message.task?.result).toBeDefined();
    expect(message.task?.startedAt?.seconds).toBe(-62_135_596_800n);
    expect(fromInspectResponse(message)).toEqual({ status });
    const network = { portMap: {}, address: "a", autoAdvertise: true };
    expect(fromInspectResponse(toInspectResponse({ status, network }))).toEqual({ status, network });
    const bare = toInspectResponse({ status });
    delete (bare as { driver?: unknown }).driver;
    expect(fromInspectResponse(bare)?.status.attributes).toEqual({});
  });

  it("hold attributes of every kind", () => {
    const attributes = {
      text: { value: "x" },
      yes: { value: true },
      int: { value: 3, unit: "MiB" },
      float: { value: 0.5 },
      big: { value: 2n ** 60n },
    };
    const fingerprint = { attributes, health: "undetected", healthDescription: "d", error: "e" } as const;
    expect(fromFingerprint(toFingerprint(fingerprint))).toEqual(fingerprint);
    const huge = toFingerprint({ attributes: { a: { value: 2n ** 70n } }, health: "healthy", healthDescription: "" });
    expect(huge.attributes["a"]?.value).toEqual({ case: "stringVal", value: String(2n ** 70n) });
    const empty = create(FingerprintResponseSchema, { attributes: { a: create(AttributeSchema) } });
    expect(fromFingerprint(empty).attributes).toEqual({ a: { value: "" } });
  });

  it("hold numbers of an attribute as exactly as the wire can", () => {
    const wire = (value: number | bigint): unknown =>
      toFingerprint({ attributes: { a: { value } }, health: "healthy", healthDescription: "" }).attributes["a"]?.value;
    const max = 2n ** 63n - 1n;
    expect(wire(max)).toEqual({ case: "intVal", value: max });
    expect(wire(max + 1n)).toEqual({ case: "stringVal", value: "9223372036854775808" });
    expect(wire(-max - 1n)).toEqual({ case: "intVal", value: -max - 1n });
    expect(wire(-max - 2n)).toEqual({ case: "stringVal", value: "-9223372036854775809" });
    expect(wire(2 ** 53)).toEqual({ case: "floatVal", value: 2 ** 53 });
    expect(wire(2 ** 53 - 1)).toEqual({ case: "intVal", value: 2n ** 53n - 1n });
    const back = (value: number | bigint): unknown =>
      fromFingerprint(toFingerprint({ attributes: { a: { value } }, health: "healthy", healthDescription: "" }))
        .attributes;
    expect(back(2n ** 53n - 1n)).toEqual({ a: { value: 2 ** 53 - 1 } });
    expect(back(2n ** 53n)).toEqual({ a: { value: 2n ** 53n } });
    expect(back(-(2n ** 60n) - 1n)).toEqual({ a: { value: -(2n ** 60n) - 1n } });
  });

  it("of a driver that can do nothing special say no to everything", () => {
    const nothing = {
      sendSignals: false,
      exec: false,
      fsIsolation: "none",
      networkIsolationModes: [],
      mustCreateNetwork: false,
      mountConfigs: "any",
      disableLogCollection: false,
      dynamicWorkloadUsers: false,
    } as const;
    expect(fromCapabilities(undefined)).toEqual(nothing);
    // Numbers of a later protocol.
    const later = Object.assign(toCapabilities(nothing), {
      fsIsolation: 9,
      mountConfigs: 9,
      networkIsolationModes: [9],
    });
    expect(fromCapabilities(later)).toEqual({ ...nothing, networkIsolationModes: ["host"] });
    const network = toNetworkSpec({ mode: "task", path: "/n", labels: {} });
    expect(fromNetworkSpec(network)).toEqual({ mode: "task", path: "/n", labels: {} });
    expect(fromNetworkSpec(Object.assign(network, { mode: 9 })).mode).toBe("host");
    const print = toFingerprint({ attributes: {}, health: "healthy", healthDescription: "d" });
    expect(fromFingerprint(Object.assign(print, { health: 9 })).health).toBe("undetected");
    for (const capabilities of [
      {
        ...nothing,
        sendSignals: true,
        fsIsolation: "chroot",
        networkIsolationModes: ["host", "group", "task", "none"],
      },
      { ...nothing, exec: true, fsIsolation: "image", mountConfigs: "none" },
      { ...nothing, mustCreateNetwork: true, fsIsolation: "unveil" },
      { ...nothing, disableLogCollection: true },
      { ...nothing, dynamicWorkloadUsers: true },
    ] as const) {
      expect(fromCapabilities(toCapabilities(capabilities))).toEqual(capabilities);
    }
  });

  it("of a plugin tell its type, and of an unknown type that it is one", () => {
    for (const type of ["unknown", "driver", "device"] as const) {
      const info = { name: "n", type, version: "1.0.0", apiVersions: ["v0.1.0"] };
      expect(fromPluginInfo(toPluginInfo(info))).toEqual(info);
    }
    expect(
      fromPluginInfo(
        Object.assign(toPluginInfo({ name: "n", type: "driver", version: "", apiVersions: [] }), { type: 9 }),
      ).type,
    ).toBe("unknown");
  });

  it("of an event keep its time to the millisecond", () => {
    const event = {
      taskId: "t",
      allocId: "a",
      taskName: "n",
      timestampMs: 1_700_000_000_123,
      message: "m",
      annotations: { k: "v" },
    };
    expect(fromTaskEvent(toTaskEvent(event))).toEqual(event);
  });

  it("of an inspected task hold times and result of one that ended, and no result of one that runs", () => {
    const exitResult = { exitCode: 3, signal: 9, oomKilled: true };
    const status = { id: "i", name: "n", startedAtMs: 1_500, completedAtMs: 2_500, attributes: { a: "b" } };
    const ended = { status: { ...status, state: "exited", exitResult } } as const;
    expect(fromInspectResponse(toInspectResponse(ended))).toEqual(ended);
    const running = fromInspectResponse(toInspectResponse({ status: { ...status, state: "running", exitResult } }));
    expect(running?.status).toEqual({ ...status, state: "running" });
  });

  it("hold the agent's settings, whatever is missing", () => {
    const core = {
      socketId: 1,
      nodeId: 2,
      coreId: 3,
      grade: "efficiency",
      disable: true,
      baseSpeedMhz: 1,
      maxSpeedMhz: 2,
      guessSpeedMhz: 3,
    } as const;
    const topology = {
      nodeIds: [0],
      distances: { dimension: 1, values: [10] },
      cores: [core],
      overrideTotalCompute: 4,
      overrideWithheldCompute: 5,
    };
    for (const config of [
      { clientMinPort: 1, clientMaxPort: 2, topology },
      { clientMinPort: 1, clientMaxPort: 2, topology: { ...topology, distances: { dimension: 0, values: [] } } },
      {
        clientMinPort: 1,
        clientMaxPort: 2,
        topology: { nodeIds: [], cores: [], overrideTotalCompute: 0, overrideWithheldCompute: 0 },
      },
      { clientMinPort: 1, clientMaxPort: 2 },
    ]) {
      expect(fromNomadConfig(toNomadConfig(config))).toEqual(config);
    }
    expect(fromNomadConfig(undefined)).toBeUndefined();
  });

  it("of samples tolerate unknown names and absent parts", () => {
    const usage = { CpuStats: null, MemoryStats: null, DeviceStats: null };
    const cpu = { SystemMode: 1, UserMode: 2, TotalTicks: 3, ThrottledPeriods: 4, ThrottledTime: 5, Percent: 6 };
    const named = toTaskStats(
      "x",
      { Timestamp: 1e18, ResourceUsage: { ...usage, CpuStats: { ...cpu, Measured: ["Percent", "New"] } }, Pids: null },
      0,
    );
    expect(named.aggResourceUsage?.cpu?.measuredFields).toEqual([5]);
    const none = toTaskStats(
      "x",
      { Timestamp: 1e18, ResourceUsage: { ...usage, CpuStats: { ...cpu, Measured: null } }, Pids: { "1": usage } },
      0,
    );
    expect(none.aggResourceUsage?.cpu?.measuredFields).toEqual([]);
    const bare = create(TaskStatsSchema, {
      timestamp: TimestampProbe,
      aggResourceUsage: { cpu: create(CPUUsageSchema, { measuredFields: [9 as never] }) },
    });
    expect(fromTaskStats(bare)).toMatchObject({ ResourceUsage: { CpuStats: { Measured: [] }, MemoryStats: null } });
    expect(fromTaskStats(create(TaskStatsSchema, { timestamp: TimestampProbe, aggResourceUsage: {} }))).toMatchObject({
      ResourceUsage: { CpuStats: null },
    });
  });
});
