import { createServer, type AddressInfo } from "node:net";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import type { Allocation } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { AllocServices } from "../../src/alloc/services/alloc-services.ts";
import { checkResultsOf } from "../../src/alloc/checks/check-results.ts";
import type { ServiceEntry } from "../../src/alloc/services/service-registrar.ts";
import { taskServicesHook } from "../../src/task/hooks/task-services-hook.ts";
import { Harness, oneTask } from "../alloc/support/harness.ts";

const service = (o: object = {}): object => ({
  Name: "web",
  Provider: "nomad",
  PortLabel: "http",
  Address: "",
  Tags: ["v1", "${N}"],
  Checks: null,
  ...o,
});
const alloc = (o: { group?: object[]; task?: object[] }): Allocation =>
  ({
    ID: "aa",
    Namespace: "default",
    NodeID: "n",
    JobID: "j",
    TaskGroup: "g",
    Job: {
      TaskGroups: [{ Name: "g", Services: o.group ?? null, Tasks: [{ Name: "main", Services: o.task ?? null }] }],
    },
    AllocatedResources: { Shared: { Ports: [{ Label: "http", Value: 8080, To: 0, HostIP: "10.0.0.1" }] } },
  }) as unknown as Allocation;
const replace = (text: string): string => text.replaceAll("${N}", "n1");

/** A list in memory that can be made to fail. */
class FakeRegistrar {
  readonly listed = new Map<string, ServiceEntry>();
  fails = false;
  calls = 0;

  async register(entries: readonly ServiceEntry[]): Promise<void> {
    this.calls++;
    if (this.fails) throw new Error("disk is full");
    for (const entry of entries) this.listed.set(entry.ID, entry);
  }

  async deregister(ids: readonly string[]): Promise<void> {
    this.calls++;
    if (this.fails) throw new Error("disk is full");
    for (const id of ids) this.listed.delete(id);
  }
}

const of = (current: () => Allocation): { services: AllocServices; registrar: FakeRegistrar; clock: ManualClock } => {
  const registrar = new FakeRegistrar();
  const clock = new ManualClock();
  return {
    registrar,
    clock,
    services: new AllocServices({ registrar, alloc: current, datacenter: () => "dc1", clock, logger: noopLogger }),
  };
};

describe("the services of an allocation", () => {
  it("are listed under stock ids, by owner, with their addresses", async () => {
    const a = alloc({
      group: [service(), service({ Provider: "consul", Name: "no" }), service({ Name: "plain", PortLabel: "" })],
      task: [service({ Name: "t-${N}", Address: "127.0.0.9" }), service({ Name: "bad", PortLabel: "none" })],
    });
    const { services, registrar } = of(() => a);
    await services.add("", replace);
    await services.add("main", replace);
    expect([...registrar.listed.values()]).toEqual([
      {
        ID: "_nomad-task-aa-group-g-web-http",
        ServiceName: "web",
        Namespace: "default",
        NodeID: "n",
        Datacenter: "dc1",
        JobID: "j",
        AllocID: "aa",
        Tags: ["v1", "n1"],
        Address: "10.0.0.1",
        Port: 8080,
      },
      expect.objectContaining({ ID: "_nomad-task-aa-group-g-plain-", Address: "127.0.0.1", Port: 0 }),
      expect.objectContaining({ ID: "_nomad-task-aa-main-t-n1-http", Address: "127.0.0.9", Port: 8080 }),
    ]);
    await services.remove("");
    expect([...registrar.listed.keys()]).toEqual(["_nomad-task-aa-main-t-n1-http"]);
  });

  it("follow a new version", async () => {
    let a = alloc({ group: [service(), service({ Name: "old" })] });
    const { services, registrar } = of(() => a);
    await services.add("", replace);
    a = alloc({ group: [service({ Tags: ["v2"] })] });
    await services.add("", replace);
    expect([...registrar.listed.values()].map((e) => [e.ServiceName, e.Tags])).toEqual([["web", ["v2"]]]);
  });

  it("are tried again when listing fails, by the newest wish, holding up nobody", async () => {
    const a = alloc({ group: [service()], task: [service({ Name: "t" })] });
    const { services, registrar, clock } = of(() => a);
    registrar.fails = true;
    await services.add("", replace);
    await services.add("main", replace);
    await services.remove("");
    expect(registrar.calls).toBe(1);
    registrar.fails = false;
    await clock.advance(1_000);
    expect([...registrar.listed.keys()]).toEqual(["_nomad-task-aa-main-t-http"]);
    expect(clock.pending).toEqual([]);
  });

  it("are left as they are when the agent goes", async () => {
    const { services, registrar, clock } = of(() => alloc({ group: [service()] }));
    registrar.fails = true;
    await services.add("", replace);
    services.close();
    await clock.advance(60_000);
    expect([registrar.calls, clock.pending]).toEqual([1, []]);
  });

  it("of a task are listed while it runs", async () => {
    const { services, registrar } = of(() => alloc({ task: [service()] }));
    const hook = taskServicesHook(services, "main");
    const env = { all: {}, replace };
    await hook.update?.({ env } as never);
    expect(registrar.calls).toBe(0);
    for (const end of ["preKilling", "exited", "stop"] as const) {
      await hook.poststart?.({ env } as never);
      await hook.update?.({ env } as never);
      expect(registrar.listed.size).toBe(1);
      await hook[end]?.({} as never);
      expect(registrar.listed.size).toBe(0);
    }
  });
});

describe("services in an allocation's life", () => {
  const job = (group: object = {}): unknown =>
    oneTask("exec sleep 600", {
      group: { Services: [service({ PortLabel: "8080" })], ...group },
      task: { Services: [service({ Name: "t", PortLabel: "8081" })] },
    });

  it("are listed from the start and gone before a task is touched, the group's delay first", async () => {
    const registrar = new FakeRegistrar();
    const h = await new Harness({ job: job({ ShutdownDelay: 2e9 }), config: { services: registrar } }).agent();
    await h.clock.advance(100);
    expect([...registrar.listed.values()].map((e) => e.ServiceName)).toEqual(["web", "t"]);
    h.stop();
    await h.clock.advance(1_000);
    expect([[...registrar.listed.values()].map((e) => e.ServiceName), h.types().at(-1), h.state().State]).toEqual([
      ["t"],
      "Waiting for shutdown delay",
      "running",
    ]);
    await h.clock.advance(1_100);
    expect([registrar.listed.size, h.types().slice(-3)]).toEqual([0, ["Killing", "Terminated", "Killed"]]);
  });

  it("let the group's delay be called off", async () => {
    const h = await new Harness({ job: job({ ShutdownDelay: 600e9 }) }).agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(1_000);
    expect(h.state().State).toBe("running");
    h.stop({ noShutdownDelay: true });
    await h.clock.advance(100);
    expect(h.status).toBe("complete");
  });

  it("wait no delay when the tasks have ended by themselves", async () => {
    const h = await new Harness({
      job: oneTask("sleep 1", { job: { Type: "batch" }, group: { ShutdownDelay: 600e9 } }),
    }).agent();
    await h.clock.advance(1_500);
    await h.done();
    expect([h.status, h.types()]).toEqual(["complete", ["Received", "Task Setup", "Started", "Terminated"]]);
  });

  it("never end a task of an earlier process because they cannot be listed", async () => {
    const registrar = new FakeRegistrar();
    const h = await new Harness({ job: job(), config: { services: registrar } }).agent();
    await h.clock.advance(100);
    h.killAgent();
    registrar.fails = true;
    registrar.listed.clear();
    await h.agent({ restore: true, serversContacted: Promise.resolve() });
    await h.clock.advance(500);
    expect([h.status, h.machine.starts.length, registrar.listed.size]).toEqual(["running", 1, 0]);
    registrar.fails = false;
    await h.clock.advance(60_000);
    expect([h.status, registrar.listed.size]).toEqual(["running", 2]);
  });
});

describe("health by checks", () => {
  const check = (o: object = {}): object => ({
    Name: "c",
    Type: "tcp",
    PortLabel: "",
    Interval: 1e9,
    Timeout: 1e9,
    OnUpdate: "require_healthy",
    CheckRestart: null,
    ...o,
  });
  const job = (update: object, port = 1): unknown =>
    oneTask("exec sleep 600", {
      group: {
        Services: [service({ Checks: [check()], PortLabel: String(port) })],
        Update: { MinHealthyTime: 2e9, HealthyDeadline: 10e9, ...update },
      },
    });
  const settle = async (h: Harness, ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      await h.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };

  it("an allocation whose check fails is not healthy by the deadline", async () => {
    // Nothing listens on port 1 of the loopback address.
    const h = await new Harness({ job: job({ HealthCheck: "checks" }) }).agent();
    await settle(h, 5_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy ?? null).toBeNull();
    await settle(h, 6_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(false);
  });

  it("an allocation is healthy when its checks have passed for min_healthy_time, not before", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    server.close();
    await new Promise((resolve) => server.once("close", resolve));
    const h = await new Harness({ job: job({ HealthCheck: "checks", HealthyDeadline: 3_600e9 }, port) }).agent();
    const status = (): unknown => Object.values(checkResultsOf(h.runner))[0]?.Status;
    const healthy = (): boolean | null => h.runner.allocState().deploymentStatus?.Healthy ?? null;
    /** Steps until something is so; gives the manual time. */
    const when = async (so: () => boolean): Promise<number> => {
      while (!so()) await settle(h, 100);
      return h.clock.monotonic();
    };
    await when(() => status() === "failure");
    await settle(h, 5_000);
    expect([healthy(), Object.values(checkResultsOf(h.runner))]).toMatchObject([
      null,
      [{ Check: "c", Status: "failure", Service: "web" }],
    ]);
    server.listen(port, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const passedAt = await when(() => status() === "success");
    expect(healthy()).toBeNull();
    const healthyAt = await when(() => healthy() === true);
    expect(healthyAt - passedAt).toBeGreaterThanOrEqual(1_900);
    expect(healthyAt - passedAt).toBeLessThanOrEqual(2_200);
    server.close();
    expect(checkResultsOf({})).toEqual({});
  });

  it("task states alone decide when the job says so", async () => {
    const h = await new Harness({ job: job({ HealthCheck: "task_states" }) }).agent();
    await settle(h, 2_500);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
  });
});
