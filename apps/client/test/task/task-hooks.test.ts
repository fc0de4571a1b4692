import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TaskDir } from "@outrider/allocdir-interface";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import { AllocationStruct, JobStruct, make, TaskResourceUsageStruct, TaskStruct } from "@outrider/nomad-structs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dispatchPayloadHook } from "../../src/task/hooks/dispatch-payload-hook.ts";
import { taskStatsHook } from "../../src/task/hooks/stats-hook.ts";
import { Harness, oneTask } from "../alloc/support/harness.ts";

describe("dispatch_payload", () => {
  let dir = "";
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "payload-"));
  });
  afterEach(() => rm(dir, { recursive: true }));

  const run = async (file: string, payload: string | null): Promise<unknown> => {
    const task = make(TaskStruct, { Name: "t", DispatchPayload: { File: file } });
    const alloc = { ...make(AllocationStruct, {}), Job: make(JobStruct, { Payload: payload }) };
    const request = { task, alloc, taskDir: { localDir: dir } as TaskDir };
    return dispatchPayloadHook().prestart?.(request as never, new AbortController().signal);
  };

  it("is written where the task wants it", async () => {
    expect(await run("in/data.txt", Buffer.from("hello").toString("base64"))).toEqual({ done: true });
    expect(await readFile(path.join(dir, "in/data.txt"), "utf8")).toBe("hello");
  });

  it("is nothing without a payload or a file", async () => {
    expect(await run("x", null)).toEqual({ done: true });
    expect(await run("", "aGk=")).toEqual({ done: true });
    await expect(stat(path.join(dir, "x"))).rejects.toThrow("ENOENT");
  });

  it.each(["../../etc/passwd", "..", "a/../../b"])("never leaves the task's folder: %s", async (file) => {
    await expect(run(file, "aGk=")).rejects.toThrow("escapes the task's folder");
  });
});

describe("stats", () => {
  it("keeps the last sample, also after the task's end", async () => {
    const clock = new ManualClock();
    const hook = taskStatsHook({ intervalMs: 1_000, collect: true, clock, logger: noopLogger });
    const sample = make(TaskResourceUsageStruct, { Timestamp: 7 });
    async function* stats(): AsyncIterable<typeof sample> {
      yield sample;
    }
    expect(hook.latest()).toBeUndefined();
    await hook.poststart?.({ stats } as never);
    await clock.advance(249);
    expect(hook.latest()).toBeUndefined();
    await clock.advance(1);
    await clock.advance(10);
    expect(hook.latest()).toEqual(sample);
    await hook.exited?.();
    await hook.shutdown?.();
    expect(hook.latest()).toEqual(sample);
    await clock.advance(60_000);
    expect(clock.pending).toHaveLength(0);
  });

  it("asks for nothing when the task ends at once", async () => {
    const clock = new ManualClock();
    const hook = taskStatsHook({ intervalMs: 1_000, collect: true, clock, logger: noopLogger });
    const stats = (): never => {
      throw new Error("asked");
    };
    await hook.poststart?.({ stats } as never);
    await clock.advance(100);
    await hook.exited?.();
    expect(clock.pending).toHaveLength(0);
    expect(hook.latest()).toBeUndefined();
  });
});

describe("logs", () => {
  it("are collected with the sizes of the job, and not at all when they are off", async () => {
    const seen: unknown[] = [];
    const logCollector = {
      start: async (c: unknown) => void seen.push(c),
      stop: async (id: string) => void seen.push(id),
    };
    const on = await new Harness({
      job: oneTask("exit 0", { job: { Type: "batch" }, task: { LogConfig: { MaxFiles: 3, MaxFileSizeMB: 7 } } }),
      config: { logCollector },
    }).agent();
    await on.clock.advance(1_000);
    expect(seen).toMatchObject([
      {
        taskName: "main",
        maxFiles: 3,
        maxFileSizeMb: 7,
        stdoutFifo: expect.stringMatching(/logs\/\.main\.stdout\.fifo$/),
      },
      expect.stringMatching(/\/main$/),
    ]);
    seen.length = 0;
    const off = await new Harness({
      job: oneTask("exit 0", { job: { Type: "batch" }, task: { LogConfig: { Disabled: true } } }),
      config: { logCollector },
    }).agent();
    await off.clock.advance(1_000);
    expect(seen).toEqual([]);
    expect(off.machine.starts[0]).toMatchObject({ stdoutPath: "/dev/null", stderrPath: "/dev/null" });
    const own = new Harness({ job: oneTask("exit 0", { job: { Type: "batch" } }), config: { logCollector } });
    own.machine.capabilities = { ...own.machine.capabilities, disableLogCollection: true };
    await own.agent();
    await own.clock.advance(1_000);
    expect(seen).toEqual([]);
  });
});

it("a driver is told all it needs to start the task", async () => {
  const ports = {
    Shared: { DiskMB: 1, Ports: [{ Label: "http", Value: 21000, To: 80, HostIP: "10.0.0.1" }], Networks: null },
  };
  const h = new Harness({
    job: oneTask("exec sleep 600", {
      task: { User: "${meta.user}" },
      group: { Networks: [{ Mode: "host", DNS: { Servers: ["1.1.1.1"] } }] },
    }),
    config: { hostEnv: { PATH: "/bin", NOMAD_TOKEN: "secret", OUTRIDER_HTTP_TOKEN: "secret" } },
  });
  h.serverAlloc = {
    ...h.serverAlloc,
    AllocatedResources: {
      ...h.serverAlloc.AllocatedResources!,
      ...make(AllocationStruct, { AllocatedResources: ports }).AllocatedResources,
      Tasks: h.serverAlloc.AllocatedResources!.Tasks,
    },
  };
  await h.agent();
  await h.clock.advance(100);
  expect(h.machine.starts[0]).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f-]{36}\/main\/[0-9a-f]{8}$/),
    name: "main",
    user: "${meta.user}",
    allocDir: "/allocs/5456bd7a-9fc0-c0dd-6131-cbee77f57577",
    taskGroupName: "g",
    nodeName: "n1",
    dns: { servers: ["1.1.1.1"], searches: [], options: [] },
    resources: {
      cpuShares: 20,
      memoryMb: 32,
      linux: { memoryLimitBytes: 32 * 1024 * 1024 },
      ports: [{ label: "http", value: 21000, to: 80, hostIp: "10.0.0.1" }],
    },
  });
  expect(h.machine.starts[0]?.env).toMatchObject({ PATH: "/bin", NOMAD_PORT_http: "80" });
  expect(h.machine.starts[0]?.env).not.toHaveProperty("NOMAD_TOKEN");
  expect(h.machine.starts[0]?.env).not.toHaveProperty("OUTRIDER_HTTP_TOKEN");
});

it("an image driver's task inherits nothing of the agent and sees short paths", async () => {
  const h = new Harness({ job: oneTask("exec sleep 600"), config: { hostEnv: { PATH: "/bin" } } });
  h.machine.capabilities = { ...h.machine.capabilities, fsIsolation: "image" };
  await h.agent();
  await h.clock.advance(100);
  expect(h.machine.starts[0]?.env).not.toHaveProperty("PATH");
  expect(h.machine.starts[0]?.env["NOMAD_TASK_DIR"]).toBe("/local");
});

it("a command in a task goes to its driver, and is refused where the driver cannot", async () => {
  const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
  await h.clock.advance(100);
  const exec = h.runner.taskExecHandler("main");
  const input = (async function* () {})();
  expect(() => exec?.({ command: ["ls"], tty: false }, input, new AbortController().signal)).toThrow(
    "driver does not implement exec",
  );
});

it("an out of memory kill is counted", async () => {
  const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
  await h.clock.advance(100);
  h.machine.running()[0]?.end({ exitCode: 137, signal: 9, oomKilled: true });
  await h.clock.advance(2_000);
  expect(h.counts).toEqual(["main running", "main oom_killed", "main restart", "main running"]);
  expect(h.events()[3]?.Details).toMatchObject({ oom_killed: "true" });
});
