import { isOutriderError } from "@outrider/foundation";
import { describe, expect, it } from "vitest";
import * as s from "../src/index.ts";
import {
  any,
  bool,
  bytes,
  duration,
  float,
  int,
  list,
  map,
  ptr,
  str,
  struct,
  time,
  uint,
  unixNano,
} from "../src/index.ts";

const failure = (fn: () => unknown): { code: string; message: string; details: unknown } => {
  try {
    fn();
  } catch (error) {
    if (isOutriderError(error)) return error as unknown as { code: string; message: string; details: unknown };
    throw error;
  }
  throw new Error("nothing was thrown");
};

describe("decode", () => {
  it("fills every absent field with its zero, also inside", () => {
    const job = s.decode(s.JobStruct, { ID: "a", TaskGroups: [{ Name: "g", Tasks: null }] });
    expect(job.Priority).toBe(0);
    expect(job.Update.Canary).toBe(0);
    expect(job.TaskGroups?.[0]?.Count).toBe(0);
    expect(job.TaskGroups?.[0]?.Tasks).toBeNull();
    expect(job.Reschedule).toBeUndefined();
  });

  it("treats null as zero, as Go does", () => {
    expect(s.decode(s.JobStruct, { ID: null, Priority: null, Update: null }).Update).toEqual(
      s.make(s.UpdateStrategyStruct),
    );
  });

  it("copies: what it returns shares nothing with the body", () => {
    const body = { ID: "a", TaskGroups: [{ Tasks: [{ Config: { a: [1, { b: 2 }] } }] }] };
    const job = s.decode(s.JobStruct, body);
    expect(job.TaskGroups?.[0]?.Tasks?.[0]?.Config).toEqual({ a: [1, { b: 2 }] });
    expect(job.TaskGroups?.[0]?.Tasks?.[0]?.Config).not.toBe(body.TaskGroups[0]?.Tasks[0]?.Config);
  });

  const at = (path: string): unknown => ({
    TaskGroups: [{ Tasks: [{ [path.split(":")[0] as string]: path.split(":")[1] }] }],
  });
  it.each([
    [{ ID: 7 }, "ERR_OUTRIDER_STRUCTS_TYPE", "ID: must be text, got 7"],
    [{ Priority: "50" }, "ERR_OUTRIDER_STRUCTS_TYPE", 'Priority: must be a whole number, got "50"'],
    [{ Priority: 1.5 }, "ERR_OUTRIDER_STRUCTS_TYPE", "Priority: must be a whole number, got 1.5"],
    [{ Priority: 2 ** 53 }, "ERR_OUTRIDER_STRUCTS_RANGE", "to be kept exactly, got 9007199254740992"],
    [{ Version: -1 }, "ERR_OUTRIDER_STRUCTS_RANGE", "Version: must be between 0 and"],
    [{ SubmitTime: 2 ** 63 }, "ERR_OUTRIDER_STRUCTS_RANGE", "SubmitTime: must fit into 64 bits"],
    [
      { Affinities: [{ Weight: 500 }] },
      "ERR_OUTRIDER_STRUCTS_RANGE",
      "Affinities[0].Weight: must be between -128 and 127",
    ],
    [at("Leader:yes"), "ERR_OUTRIDER_STRUCTS_TYPE", 'TaskGroups[0].Tasks[0].Leader: must be true or false, got "yes"'],
    [at("Env:x"), "ERR_OUTRIDER_STRUCTS_TYPE", "Env: must be an object"],
    [{ TaskGroups: {} }, "ERR_OUTRIDER_STRUCTS_TYPE", "TaskGroups: must be a list"],
    [{ TaskGroups: ["g"] }, "ERR_OUTRIDER_STRUCTS_TYPE", "TaskGroups[0]: must be an object (TaskGroup)"],
    [{ Payload: "***" }, "ERR_OUTRIDER_STRUCTS_TYPE", "Payload: must be base64 text"],
    [{ Meta: { "a b": 1 } }, "ERR_OUTRIDER_STRUCTS_TYPE", 'Meta["a b"]: must be text'],
    ["job", "ERR_OUTRIDER_STRUCTS_TYPE", "(body): must be an object (Job)"],
    [null, "ERR_OUTRIDER_STRUCTS_TYPE", "(body): must be an object (Job), got null"],
    [new Uint8Array(3), "ERR_OUTRIDER_STRUCTS_TYPE", "(body): must be an object (Job)"],
  ])("refuses %j", (body, code, message) => {
    const error = failure(() => s.decode(s.JobStruct, body));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it("names the field and the offending text in the details of an error", () => {
    expect(failure(() => s.decode(s.JobStruct, { Meta: { a: ["x".repeat(200)] } })).details).toEqual({
      field: "Meta.a",
      text: `["${"x".repeat(78)}…`,
    });
  });

  it("shows values that JSON cannot show by their type", () => {
    const circular: unknown[] = [];
    circular.push(circular);
    expect(failure(() => s.decode(s.JobStruct, { ID: circular })).message).toContain("got object");
    expect(failure(() => s.decode(s.JobStruct, { ID: () => 1 })).message).toContain("got function");
    expect(failure(() => s.decode(s.JobStruct, { ID: 5n })).message).toContain("got 5");
  });

  it("refuses untyped values that are not JSON", () => {
    expect(failure(() => s.decode(s.TaskStruct, { Config: { a: Number.NaN } })).message).toContain("Config.a");
    expect(failure(() => s.decode(s.TaskStruct, { Config: { a: new Map([["x", () => 1]]).get("x") } })).code).toBe(
      "ERR_OUTRIDER_STRUCTS_TYPE",
    );
  });

  it("skips unknown keys, keeps them or refuses them", () => {
    const body = { ID: "a", Colour: { red: 1 } };
    expect(s.decode(s.JobStruct, body)).not.toHaveProperty("Colour");
    expect(s.decode(s.JobStruct, body, { unknownKeys: "keep" })).toHaveProperty("Colour", { red: 1 });
    expect(failure(() => s.decode(s.JobStruct, body, { unknownKeys: "refuse" })).message).toBe(
      'Colour: is not a field of Job, got {"red":1}',
    );
  });

  it.each(['{"Meta":{"__proto__":"x"}}', '{"X":{"a":[{"__proto__":1}]}}', '{"__proto__":{"Stop":true}}'])(
    "refuses the key __proto__ wherever it would be kept: %s",
    (text) => {
      const error = failure(() => s.decode(s.JobStruct, JSON.parse(text), { unknownKeys: "keep" }));
      expect(error.message).toContain("must have no key of this name");
    },
  );

  it("drops the key __proto__ with the other unknown ones", () => {
    expect(s.decode(s.JobStruct, JSON.parse('{"__proto__":{"Stop":true}}')).Stop).toBe(false);
  });

  it("bounds nesting and size", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 600; i += 1) deep = [deep];
    const code = failure(() => s.decode(s.TaskStruct, { Config: { deep } })).code;
    expect(code).toBe("ERR_OUTRIDER_STRUCTS_TOO_DEEP");
    const wide = { Config: { list: Array.from({ length: 50 }, (_, i) => i) } };
    expect(failure(() => s.decode(s.TaskStruct, wide, { maxNodes: 40 })).code).toBe("ERR_OUTRIDER_STRUCTS_TOO_LARGE");
    expect(s.decode(s.TaskStruct, wide, { maxNodes: 60, maxDepth: 5 }).Config).toEqual(wide.Config);
  });
});

describe("scalars", () => {
  const all = {
    Str: str(),
    Bool: bool(),
    Int8: int(8),
    Uint16: uint(16),
    Float: float(),
    Duration: duration(),
    Nano: unixNano(),
    Time: time(),
    Bytes: bytes(),
    Any: any(),
    Ptr: ptr(int()),
    List: list(str()),
    Map: map(float()),
  };
  type All = s.Infer<typeof all>;
  const AllStruct = struct<All>("All", all);

  it("decodes each kind", () => {
    const body = {
      Str: "s",
      Bool: true,
      Int8: -128,
      Uint16: 65_535,
      Float: 0.5,
      Duration: 31_536_000_000_000_000,
      Nano: 1_796_043_450_000_000_000,
      Time: "2026-11-30T12:56:35.534446586Z",
      Bytes: "AAE=",
      Any: [null, true, "x", 1.5, { a: 1 }],
      Ptr: 0,
      List: ["a", null],
      Map: { a: 1 },
    };
    expect(s.decode(AllStruct, body)).toEqual({ ...body, List: ["a", ""] });
    expect(s.decode(AllStruct, { Int8: -0 }).Int8).toBe(0);
    expect(s.decode(AllStruct, { Int8: 5n, Nano: 1_796_043_450_000_000_001n })).toMatchObject({
      Int8: 5,
      Nano: 1_796_043_450_000_000_000,
    });
  });

  it.each([
    { Time: "yesterday" },
    { Time: "2026-13-41T00:00:00Z" },
    { Time: 5 },
    { Float: "1" },
    { Float: Number.POSITIVE_INFINITY },
    { Uint16: 65_536 },
    { Uint16: -1 },
    { Int8: 128 },
    { Bytes: 5 },
    { Bytes: "AAE" },
  ])("refuses %j", (body) => {
    expect(failure(() => s.decode(AllStruct, body)).code).toMatch(/_(TYPE|RANGE)$/);
  });
});

describe("decodeInput", () => {
  it("tells absent, null and zero apart", () => {
    const body = { ID: "a", Priority: null, Count: 1, TaskGroups: [{ Count: 0, Tasks: [null] }] };
    expect(s.decodeInput(s.JobStruct, body)).toEqual({
      ID: "a",
      Priority: null,
      TaskGroups: [{ Count: 0, Tasks: [null] }],
    });
  });

  it("leaves out undefined, so that a typed partial job can be given", () => {
    expect(s.decodeInput(s.JobStruct, { ID: undefined, Name: "n" })).toEqual({ Name: "n" });
  });
});

describe("encode and make", () => {
  it("leaves out zero fields of allocations, ports and networks only", () => {
    const alloc = s.make(s.AllocationStruct, { ID: "x", TaskStates: {}, DesiredTransition: {} });
    expect(s.encode(s.AllocationStruct, alloc)).toEqual({ ID: "x" });
    expect(s.encode(s.PortStruct, s.make(s.PortStruct, { Label: "http" }))).toEqual({ Label: "http" });
    expect(s.encode(s.NumaTopologyStruct, s.make(s.NumaTopologyStruct))).not.toHaveProperty("BusAssociativity");
    expect(s.encode(s.DesiredTransitionStruct, s.make(s.DesiredTransitionStruct))).toHaveProperty("Migrate", null);
  });

  it("keeps an object that is not all zero", () => {
    const alloc = s.make(s.AllocationStruct, { DesiredTransition: { Migrate: true } });
    expect(s.encode(s.AllocationStruct, alloc)).toEqual({
      DesiredTransition: {
        ForceReschedule: null,
        Migrate: true,
        MigrateDisablePlacement: null,
        NoShutdownDelay: null,
        Reschedule: null,
      },
    });
  });

  it("fills fields that an object lacks, so that older objects encode too", () => {
    const stub = { ID: "x" } as s.AllocListStub;
    expect(s.encode(s.AllocListStubStruct, stub)).toHaveProperty("JobVersion", 0);
    expect(s.encode(s.AllocationStruct, { ID: "x" } as s.Allocation)).toEqual({ ID: "x" });
  });

  it("checks what it writes", () => {
    const port = { ...s.make(s.PortStruct), Value: "80" as unknown as number };
    expect(failure(() => s.encode(s.PortStruct, port)).message).toBe('Value: must be a whole number, got "80"');
  });

  it("makes an object of zeros from nothing", () => {
    expect(s.make(s.RestartPolicyStruct)).toEqual({
      Attempts: 0,
      Interval: 0,
      Delay: 0,
      Mode: "",
      RenderTemplates: false,
    });
  });
});

describe("parseJson", () => {
  it("parses text of bounded length", () => {
    expect(s.parseJson('{"a":1}')).toEqual({ a: 1 });
    expect(failure(() => s.parseJson("[1,2,3]", { maxBytes: 3 })).code).toBe("ERR_OUTRIDER_STRUCTS_TOO_LARGE");
    const error = failure(() => s.parseJson('{"a":'));
    expect(error.code).toBe("ERR_OUTRIDER_STRUCTS_SYNTAX");
    expect(error.message).not.toContain("\n");
  });
});

describe("constants", () => {
  it("sorts statuses into terminal ones and others", () => {
    expect(s.ALLOC_CLIENT_STATUSES.filter(s.isClientTerminal)).toEqual(["complete", "failed", "lost"]);
    expect(s.ALLOC_DESIRED_STATUSES.filter(s.isServerTerminal)).toEqual(["stop", "evict"]);
    expect(s.TASK_PAUSE_STATES.filter(s.isPaused)).toEqual(["scheduled_pause", "force_pause"]);
    expect(Object.values(s.PAUSE_REQUESTS).every((x) => s.TASK_PAUSE_STATES.includes(x))).toBe(true);
  });
});
