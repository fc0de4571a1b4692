/** The errors of the border, as README and docs/errors.md list them. */
import { isOutriderError, type OutriderError } from "@outrider/foundation";
import { Metadata, status } from "@grpc/grpc-js";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  isPluginShutdown,
  isTaskNotFound,
  NotImplementedError,
  PluginCallError,
  PluginProtocolError,
  PluginShutdownError,
  PluginStartError,
  PluginTimeoutError,
  RecoverableError,
  StatsNotImplementedError,
  TaskNotFoundError,
} from "../src/index.ts";
import { StatusSchema } from "../src/gen/status_pb.js";
import { fromStatus, recoverableDetails, toStatus } from "../src/wire/status.ts";

const cause = new Error("why");
const ROWS: readonly (readonly [OutriderError, string, string, boolean, Readonly<Record<string, unknown>>])[] = [
  [new RecoverableError("boom", true, { cause }), "RecoverableError", "DRIVER_FAILURE: boom", true, {}],
  [new RecoverableError("boom", false, { cause }), "RecoverableError", "DRIVER_FAILURE: boom", false, {}],
  [
    new TaskNotFoundError("t1", { cause }),
    "TaskNotFoundError",
    "TASK_NOT_FOUND: task not found for given id",
    false,
    { taskId: "t1" },
  ],
  [
    new StatsNotImplementedError({ cause }),
    "StatsNotImplementedError",
    "STATS_NOT_IMPLEMENTED: stats not implemented for driver",
    false,
    {},
  ],
  [
    new NotImplementedError("ExecTask", { cause }),
    "NotImplementedError",
    "NOT_IMPLEMENTED: driver does not implement ExecTask",
    false,
    { what: "ExecTask" },
  ],
  [new PluginShutdownError({ cause }), "PluginShutdownError", "SHUTDOWN: plugin is shut down", true, {}],
  [
    new PluginProtocolError("odd", { cause, details: { path: "p" } }),
    "PluginProtocolError",
    "PROTOCOL: odd",
    false,
    { path: "p" },
  ],
  [new PluginCallError("no", 13, { cause }), "PluginCallError", "CALL: no", false, { status: 13 }],
  [
    new PluginTimeoutError("Init", 7, { cause }),
    "PluginTimeoutError",
    "TIMEOUT: Init did not answer within 7 ms",
    true,
    { what: "Init", timeoutMs: 7 },
  ],
  [
    new PluginStartError("spawn", "no file", { cause, recoverable: true, details: { a: "b" } }),
    "PluginStartError",
    "START: no file",
    true,
    { a: "b", kind: "spawn" },
  ],
];

describe("an error of the plugin border", () => {
  it.each(ROWS)("%s has its name, code, words, cause and details", (error, name, text, recoverable, details) => {
    expect(error.name).toBe(name);
    expect(`${error.code}: ${error.message}`).toBe(`ERR_OUTRIDER_PLUGIN_${text}`);
    expect(isOutriderError(error, error.code)).toBe(true);
    expect(error.recoverable ?? false).toBe(recoverable);
    expect(error.cause).toBe(cause);
    expect(error.details ?? {}).toEqual(details);
  });

  it("may be recoverable unless it says no, and needs no id", () => {
    expect(new RecoverableError("x").recoverable).toBe(true);
    expect(new TaskNotFoundError().details ?? {}).toEqual({});
    expect(new PluginCallError("x", 5).status).toBe(5);
    expect(new PluginStartError("network", "x").kind).toBe("network");
  });

  it("is recognised by its code alone", () => {
    expect([isPluginShutdown(new PluginShutdownError()), isPluginShutdown(new TaskNotFoundError())]).toEqual([
      true,
      false,
    ]);
    expect([isTaskNotFound(new TaskNotFoundError()), isTaskNotFound(new PluginShutdownError())]).toEqual([true, false]);
  });
});

describe("a status of a plugin", () => {
  const from = (code: number, details: string, metadata?: Metadata, path = "/x.Driver/Call"): OutriderError =>
    fromStatus({ code, details, metadata }, path) as OutriderError;
  const trailer = (bytes: Uint8Array): Metadata => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", Buffer.from(bytes));
    return metadata;
  };

  it.each([true, false])("with Nomad's recoverable=%s is that failure, whatever its code", (recoverable) => {
    const metadata = trailer(recoverableDetails("inner words", recoverable));
    expect(from(status.FAILED_PRECONDITION, "rpc error: code = Unknown desc = boom", metadata)).toMatchObject({
      name: "RecoverableError",
      message: "boom",
      recoverable,
    });
    expect(from(status.NOT_FOUND, "boom", metadata).name).toBe("RecoverableError");
  });

  it("with a detail of another kind counts by its code", () => {
    const other = create(StatusSchema, {
      details: [{ typeUrl: "type.googleapis.com/x.Other", value: new Uint8Array() }],
    });
    const metadata = trailer(toBinary(StatusSchema, other));
    expect(from(status.INTERNAL, "boom", metadata)).toMatchObject({ name: "PluginCallError", status: 13 });
  });

  it("loses Go's words before the driver's own", () => {
    const twice = "rpc error: code = Unknown desc = rpc error: code = Internal desc = disk full";
    expect(from(status.UNKNOWN, twice).message).toBe("disk full");
    expect(from(status.UNKNOWN, "saw rpc error: code = X desc = y").message).toBe("saw rpc error: code = X desc = y");
  });

  it("tells calls that the driver does not offer, by name", () => {
    expect(from(status.UNKNOWN, "CreateNetwork RPC not supported by driver")).toMatchObject({
      name: "NotImplementedError",
      details: { what: "CreateNetwork" },
    });
    expect(from(status.UNKNOWN, "my CreateNetwork RPC not supported by driver").name).toBe("PluginCallError");
    expect(from(status.UNIMPLEMENTED, "unknown method")).toMatchObject({
      name: "NotImplementedError",
      details: { what: "/x.Driver/Call" },
    });
    expect(from(status.UNIMPLEMENTED, "", undefined, "/x.Driver/TaskStats").name).toBe("StatsNotImplementedError");
    expect(from(status.UNKNOWN, "stats not implemented for driver").name).toBe("StatsNotImplementedError");
    expect(from(status.UNKNOWN, "no stats", undefined, "/x.Driver/TaskStats").name).toBe("PluginCallError");
  });

  it("keeps the failure as its cause", () => {
    for (const [code, text] of [
      [status.NOT_FOUND, "x"],
      [status.UNKNOWN, "stats not implemented for driver"],
      [status.UNKNOWN, "Exec RPC not supported by driver"],
      [status.UNIMPLEMENTED, "x"],
      [status.INTERNAL, "x"],
    ] as const) {
      expect(from(code, text).cause, text).toMatchObject({ code, details: text });
    }
    expect(from(status.UNIMPLEMENTED, "", undefined, "/x.Driver/TaskStats").cause).toMatchObject({ code: 12 });
    expect(from(9, "x", trailer(recoverableDetails("x", true))).cause).toMatchObject({ code: 9 });
  });
});

describe("the status of a driver's failure", () => {
  it("cuts a text that no header could carry, and keeps one that fits", () => {
    expect(toStatus(new Error("x".repeat(4_096))).details).toBe("x".repeat(4_096));
    expect(toStatus(new Error("x".repeat(4_097))).details).toBe(`${"x".repeat(4_096)}…`);
  });

  it("finds the flag among eight causes, the nearest first, and gives up on a circle", () => {
    const wrapped = (depth: number, flag: boolean): Error => {
      let error: Error = new RecoverableError("inner", flag);
      for (let i = 0; i < depth; i++) error = new Error("outer", { cause: error });
      return error;
    };
    const flagOf = (reason: unknown): boolean | undefined => {
      const reply = toStatus(reason, true);
      if (reply.metadata === undefined) return undefined;
      return (fromStatus(reply, "x") as OutriderError).recoverable;
    };
    expect([flagOf(wrapped(0, true)), flagOf(wrapped(7, true)), flagOf(wrapped(8, true))]).toEqual([
      true,
      true,
      undefined,
    ]);
    expect(flagOf(wrapped(3, false))).toBe(false);
    expect(flagOf(new RecoverableError("near", false, { cause: new RecoverableError("far", true) }))).toBe(false);
    const circle = new Error("circle");
    circle.cause = circle;
    expect(flagOf(circle)).toBeUndefined();
    expect(flagOf(Object.assign(new Error("odd"), { recoverable: "yes" }))).toBeUndefined();
  });
});
