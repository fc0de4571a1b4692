import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Constraint } from "@outrider/nomad-structs";
import { inDatacenter, meetsConstraint, resolveTarget } from "../../src/server/constraints.ts";
import { parsePorts } from "../../src/server/node-usage.ts";
import { meetsVersion } from "../../src/server/version-constraint.ts";
import { jobBody, NODE_ID, ServerHarness, testNode } from "./harness.ts";

let h: ServerHarness;
beforeEach(async () => void (h = await new ServerHarness().start()));
afterEach(() => h.server[Symbol.asyncDispose]());

const check = (LTarget: string, Operand: string, RTarget: string): boolean =>
  meetsConstraint({ LTarget, Operand, RTarget } as Constraint, testNode());

describe("constraints", () => {
  it.each([
    ["${attr.kernel.name}", "=", "linux", true],
    ["${attr.kernel.name}", "==", "windows", false],
    ["${attr.kernel.name}", "is", "linux", true],
    ["${attr.kernel.name}", "!=", "linux", false],
    ["${attr.nope}", "!=", "linux", true],
    ["${attr.nope}", "=", "linux", false],
    ["${node.class}", "not", "x", true],
    ["${node.datacenter}", "", "dc1", true],
    ["${node.unique.name}", "=", "node1", true],
    ["${node.unique.id}", "=", NODE_ID, true],
    ["${node.pool}", "=", "default", true],
    ["${meta.rack}", "regexp", "^r\\d$", true],
    ["${meta.rack}", "regexp", "(", false],
    ["${meta.rack}", "<", "r2", true],
    ["10", ">", "9", true],
    ["10", ">=", "10.0", true],
    ["b", "<=", "a", false],
    ["${attr.nomad.version}", "version", ">= 1.4, < 3", true],
    ["${attr.nomad.version}", "semver", ">= 1.4.0", true],
    ["${attr.kernel.name}", "version", ">= 1", false],
    ["${attr.os.signals}", "set_contains", "SIGHUP, SIGTERM", true],
    ["${attr.os.signals}", "set_contains_all", "SIGHUP,SIGUSR9", false],
    ["${attr.os.signals}", "set_contains_any", "SIGHUP,SIGUSR9", true],
    ["${attr.kernel.name}", "is_set", "", true],
    ["${attr.nope}", "is_set", "", false],
    ["${attr.nope}", "is_not_set", "", true],
    ["${attr.kernel.name}", "what", "linux", false],
    ["${weird.thing}", "is_set", "", false],
    ["${attr.__proto__}", "is_set", "", false],
  ])("%s %s %s is %s", (left, operand, right, met) => expect(check(left, operand, right)).toBe(met));

  it("ends a pattern that would run for ever", () => {
    const node = testNode({ Meta: { a: "a".repeat(40) } });
    const before = process.cpuUsage();
    expect(meetsConstraint({ LTarget: "${meta.a}", Operand: "regexp", RTarget: "^(a|a)*(a|a)*b$" }, node)).toBe(false);
    // What others take of the machine does not count.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it("leaves texts that name nothing alone", () => expect(resolveTarget("linux", testNode())).toBe("linux"));

  it.each([
    ["1.2.3", "1.2.3", "version", true],
    ["1.2.3", "!= 1.2.3", "version", false],
    ["1.10", "> 1.9", "version", true],
    ["1.4.9", "~> 1.4.2", "version", true],
    ["1.5.0", "~> 1.4.2", "version", false],
    ["1.9", "~> 1.2", "version", true],
    ["2.0", "~> 1.2", "version", false],
    ["1.5.0-beta", ">= 1.4", "version", false],
    ["1.5.0-beta", ">= 1.5.0-alpha", "version", true],
    ["1.5.0-beta", ">= 1.4.0", "semver", true],
    ["1.5.0-beta.2", "< 1.5.0", "semver", true],
    ["1.5.0-beta.10", "> 1.5.0-beta.2", "semver", true],
    ["1.5.0-beta.x", "> 1.5.0-beta.2", "semver", true],
    ["1.5.0-1", "< 1.5.0-a", "semver", true],
    ["1.5.0-a", "< 1.5.0-a.1", "semver", true],
    ["1.5.0-a.1", "> 1.5.0-a", "semver", true],
    ["1.5.0-b", "> 1.5.0-a", "semver", true],
    ["1.5.0+x", "= 1.5.0", "semver", true],
    ["1.5.0", "<= 1.5.0", "semver", true],
    ["1.5", "= 1.5.0", "semver", undefined],
    ["1.5.0", "~> 1.5", "semver", undefined],
    ["x", "1", "version", undefined],
    ["1", "huh 1 2", "version", undefined],
  ] as const)("version %s against %s (%s) is %s", (version, wanted, mode, met) =>
    expect(meetsVersion(version, wanted, mode)).toBe(met),
  );

  it("knows datacenters with stars, and port lists", () => {
    expect(inDatacenter(["dc2", "d*"], "dc1")).toBe(true);
    expect(inDatacenter(["d.1"], "dc1")).toBe(false);
    expect(inDatacenter(null, "dc1")).toBe(false);
    expect([...parsePorts("22, 80,8500-8502,x")]).toEqual([22, 80, 8500, 8501, 8502]);
  });
});

describe("placement on one node", () => {
  const failed = (job: string): Record<string, unknown> => h.evals(job)[0]!.FailedTGAllocs!["g"] as never;

  it("waits blocked, with the reason, when memory is not there, and is placed when it is", async () => {
    await h.submit(jobBody("a", {}, {}, { Resources: { CPU: 10, MemoryMB: 800 } }));
    await h.submit(jobBody("b", {}, {}, { Resources: { CPU: 10, MemoryMB: 300 } }));
    expect(h.live("b")).toEqual([]);
    expect(failed("b")).toMatchObject({
      NodesEvaluated: 1,
      NodesExhausted: 1,
      DimensionExhausted: { memory: 1 },
      NodesAvailable: { dc1: 1 },
      ResourcesExhausted: { t: { MemoryMB: 300 } },
    });
    const blocked = h.evals("b").find((e) => e.Status === "blocked")!;
    expect(blocked).toMatchObject({
      TriggeredBy: "queued-allocs",
      StatusDescription: "created to place remaining allocations",
      PreviousEval: h.evals("b")[0]!.ID,
    });
    expect(h.evals("b")[0]!.BlockedEval).toBe(blocked.ID);
    expect(h.summary("b")).toMatchObject({ Queued: 1 });
    expect(h.job("b").Status).toBe("running");
    await h.server.deregister("default", "a");
    await h.settle();
    expect(h.live("b")).toEqual([]);
    await h.obey("a");
    expect(h.live("b")).toHaveLength(1);
    expect(h.summary("b")).toMatchObject({ Queued: 0, Starting: 1 });
    expect(h.evals("b").find((e) => e.ID === blocked.ID)!.Status).toBe("complete");
  });

  it.each([
    ["cpu", { Resources: { CPU: 5000, MemoryMB: 10 } }, {}],
    ["disk", {}, { EphemeralDisk: { SizeMB: 50_000 } }],
  ])("names %s when that is what is missing", async (dimension, task, group) => {
    await h.submit(jobBody("a", {}, group, task));
    expect(failed("a")).toMatchObject({ DimensionExhausted: { [dimension]: 1 } });
  });

  it("names a constraint, a driver or a datacenter that keeps a job off the node", async () => {
    await h.submit(
      jobBody("a", { Constraints: [{ LTarget: "${attr.kernel.name}", Operand: "=", RTarget: "windows" }] }),
    );
    expect(failed("a")).toMatchObject({ NodesFiltered: 1, ConstraintFiltered: { "${attr.kernel.name} = windows": 1 } });
    await h.submit(jobBody("b", { Datacenters: ["mars"] }));
    expect(failed("b")).toMatchObject({ NodesEvaluated: 0, NodesAvailable: { dc1: 0 } });
    await h.server.link.register(testNode({ Drivers: {} }), { signal: new AbortController().signal });
    await h.submit(jobBody("c"));
    expect(failed("c")).toMatchObject({ ConstraintFiltered: { "missing drivers": 1 } });
    await h.server.link.register(testNode(), { signal: new AbortController().signal });
    await h.settle();
    expect(h.live("c")).toHaveLength(1);
  });

  it("places nothing on a node that is not eligible", async () => {
    await h.server.setEligibility(NODE_ID, "ineligible");
    await h.submit(jobBody("a"));
    expect(h.live("a")).toEqual([]);
    await expect(h.server.setEligibility(NODE_ID, "maybe")).rejects.toThrow("invalid scheduling eligibility");
    await expect(h.server.setEligibility("nope", "eligible")).rejects.toThrow("node not found");
    await h.server.setEligibility(NODE_ID, "eligible");
    await h.settle();
    expect(h.live("a")).toHaveLength(1);
  });

  it("gives out dynamic ports once each, and static ones once", async () => {
    const networks = (n: number): object => ({
      Networks: [{ DynamicPorts: Array.from({ length: n }, (_, i) => ({ Label: `p${i}`, To: i === 0 ? -1 : 80 })) }],
    });
    await h.submit(jobBody("a", {}, networks(3) as never));
    await h.submit(jobBody("b", {}, networks(2) as never));
    const ports = h.allocs("a")[0]!.AllocatedResources!.Shared.Ports!;
    expect(ports.map((p) => p.Value).toSorted((a, b) => a - b)).toEqual([20_000, 20_001, 20_002]);
    expect(ports[0]!.To).toBe(ports[0]!.Value);
    expect(ports[1]).toMatchObject({ To: 80, HostIP: "127.0.0.1" });
    expect(h.allocs("a")[0]!.Resources!.Networks![0]!.DynamicPorts![0]!.Value).toBe(ports[0]!.Value);
    expect(failed("b")).toMatchObject({ DimensionExhausted: { "network: dynamic port selection failed": 1 } });
    const fixed = { Networks: [{ ReservedPorts: [{ Label: "http", Value: 8080 }] }] };
    await h.submit(jobBody("c", {}, fixed));
    await h.submit(jobBody("d", {}, fixed));
    expect(h.live("c")).toHaveLength(1);
    expect(failed("d")).toMatchObject({ DimensionExhausted: { "network: reserved port collision http=8080": 1 } });
    await h.submit(jobBody("e", {}, { Networks: [{ DynamicPorts: [{ Label: "x", HostNetwork: "public" }] }] }));
    expect(failed("e")["ConstraintFiltered"]).toEqual({ 'missing host network "public" for port "x"': 1 });
  });

  it("keeps a static port for the instance that replaces its holder", async () => {
    const fixed = { Networks: [{ ReservedPorts: [{ Label: "http", Value: 8080 }] }] };
    await h.submit(jobBody("a", {}, fixed));
    await h.obey("a");
    await h.submit(jobBody("a", {}, fixed, { Env: { A: "2" } }));
    expect(h.live("a").map((a) => a.Job!.Version)).toEqual([1]);
    expect(h.live("a")[0]!.PreviousAllocation).not.toBe("");
  });

  it("bounds instances by distinct_hosts and distinct_property", async () => {
    await h.submit(
      jobBody("a", { Constraints: [{ Operand: "distinct_hosts", LTarget: "", RTarget: "true" }] }, { Count: 2 }),
    );
    expect(h.live("a")).toHaveLength(1);
    await h.submit(
      jobBody(
        "b",
        {},
        { Count: 3, Constraints: [{ Operand: "distinct_property", LTarget: "${meta.rack}", RTarget: "2" }] },
      ),
    );
    expect(h.live("b")).toHaveLength(2);
    expect(h.evals("b")[0]!.FailedTGAllocs!["g"]).toMatchObject({ NodesFiltered: 1 });
  });

  it("counts tasks that do not run at the same time once", async () => {
    const task = (Name: string, Lifecycle: object | null): object => ({
      Name,
      Lifecycle,
      Driver: "raw_exec",
      Config: { command: "/bin/true" },
      Resources: { CPU: 10, MemoryMB: 600 },
    });
    await h.submit(
      jobBody(
        "a",
        {},
        {
          Tasks: [
            task("pre", { Hook: "prestart", Sidecar: false }),
            task("main", null),
            task("post", { Hook: "poststop" }),
          ],
        },
      ),
    );
    expect(h.live("a")).toHaveLength(1);
    await h.submit(
      jobBody("b", {}, { Tasks: [task("side", { Hook: "prestart", Sidecar: true }), task("main", null)] }),
    );
    expect(h.live("b")).toHaveLength(0);
  });

  it("adds the constraints that kill signals imply", async () => {
    await h.submit(jobBody("a", {}, {}, { KillSignal: "SIGUSR1" }));
    expect(h.job("a").TaskGroups![0]!.Constraints).toContainEqual({
      LTarget: "${attr.os.signals}",
      RTarget: "SIGUSR1",
      Operand: "set_contains",
    });
    expect(h.live("a")).toEqual([]);
    await h.submit(jobBody("a", {}, {}, { KillSignal: "SIGTERM" }));
    expect(h.live("a")).toHaveLength(1);
  });

  it("gives a job whole to the node, and what changed of it", async () => {
    const signal = new AbortController().signal;
    await h.submit(jobBody("a"));
    const first = await h.server.link.watchAllocs({ nodeId: NODE_ID, minIndex: 0, waitMs: 1000, signal });
    expect([...first.allocs.keys()]).toEqual(h.allocs("a").map((a) => a.ID));
    const [alloc] = await h.server.link.getAllocs([...first.allocs.keys(), "unknown"], { signal });
    expect(alloc!.Job!.ID).toBe("a");
    alloc!.Job!.ID = "changed by the receiver";
    expect(h.allocs("a")[0]!.Job!.ID).toBe("a");
    let later: typeof first | undefined;
    void h.server.link
      .watchAllocs({ nodeId: NODE_ID, minIndex: first.index, waitMs: 60_000, signal })
      .then((r) => (later = r));
    await h.report(h.allocs("a")[0]!, "running");
    expect(later).toBeUndefined();
    await h.submit(jobBody("b"));
    expect(later!.index).toBeGreaterThan(first.index);
    const same = h.server.link.watchAllocs({ nodeId: NODE_ID, minIndex: later!.index, waitMs: 500, signal });
    await h.advance(600);
    expect((await same).index).toBe(later!.index);
    const gone = new AbortController();
    const aborted = h.server.link.watchAllocs({
      nodeId: NODE_ID,
      minIndex: later!.index,
      waitMs: 500_000,
      signal: gone.signal,
    });
    gone.abort(new Error("bye"));
    await expect(aborted).rejects.toThrow("bye");
  });

  it("keeps a node's events, and one node alone", async () => {
    const signal = new AbortController().signal;
    await h.server.link.emitNodeEvents(
      NODE_ID,
      [{ Subsystem: "Driver", Message: "m", Details: null, Timestamp: null, CreateIndex: 0 }],
      { signal },
    );
    await h.server.link.emitNodeEvents("other", [], { signal });
    expect(h.server.state.tables.nodes.get(NODE_ID)!.Events!.map((e) => e.Message)).toEqual(["Node registered", "m"]);
    const index = h.server.state.index;
    await h.server.link.register(testNode(), { signal });
    expect(h.server.state.index).toBe(index);
    await h.server.link.register(testNode({ ID: "33333333-3333-3333-3333-333333333333" }), { signal });
    expect(h.server.state.tables.nodes.get(NODE_ID)!.Status).toBe("down");
    await expect(h.server.link.heartbeat("none", "ready", { signal })).rejects.toThrow("node not found");
  });
});
