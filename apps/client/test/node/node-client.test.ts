import { OutriderError } from "@outrider/foundation";
import { afterEach, describe, expect, it } from "vitest";
import { FakeRunners } from "../agent/fake-runner.ts";
import { alloc, NodeHarness } from "./harness.ts";

const open: NodeHarness[] = [];
afterEach(async () => {
  for (const h of open.splice(0)) await h.close();
});
async function start(o: ConstructorParameters<typeof NodeHarness>[0] = {}): Promise<NodeHarness> {
  const h = new NodeHarness(o);
  open.push(h);
  return h.start();
}

describe("registration", () => {
  it("announces the node, says ready, and keeps alive at half the time it is given", async () => {
    const h = await start();
    expect(h.link.calls.slice(0, 2)).toEqual(["register", "heartbeat ready"]);
    expect(h.node.node.Status).toBe("ready");
    expect(h.state.get("node/node_registration")).toEqual({ HasRegistered: true });
    const beats = (): number => h.link.calls.filter((c) => c === "heartbeat ready").length;
    const before = beats();
    await h.advance(10_100);
    expect(beats() - before).toBe(2);
    expect(h.node.heartbeat.ttlMs).toBe(10_000);
  });

  it("tries again, with growing waits, until a server answers", async () => {
    const h = new NodeHarness();
    open.push(h);
    h.link.failRegister = 3;
    const started = h.node.start();
    await h.advance(7500);
    await started;
    expect(h.link.calls.filter((c) => c === "register")).toHaveLength(4);
    expect(h.logs.filter(([level]) => level === "warn")).toHaveLength(3);
  });

  it("announces drivers when they answer, and later changes with an event", async () => {
    const h = await start();
    await h.advance(200);
    expect(h.link.nodes.at(-1)!.Attributes).toMatchObject({ "driver.raw_exec": "1" });
    expect(h.link.nodes.at(-1)!.Drivers!["raw_exec"]).toMatchObject({ Healthy: true });
    const count = h.link.nodes.length;
    await h.drivers.start(new AbortController().signal);
    await h.advance(200);
    expect(h.link.nodes).toHaveLength(count);
    const registration = h.link.nodes.at(-1)!.Drivers!["raw_exec"]!;
    expect(registration.Detected).toBe(true);
  });
});

describe("what the server wants", () => {
  it("is started, reported once the server was heard, and updated", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(1100);
    expect(h.runners.all.get("a")!.alloc().ID).toBe("a");
    expect(h.link.last("a")).toMatchObject({ ClientStatus: "running", NodeID: h.node.node.ID });
    expect(h.state.get("allocations/a/alloc")).toMatchObject({ ID: "a" });
    expect(h.state.get("allocations/a/acknowledged_state")).toMatchObject({ ClientStatus: "running" });
    h.link.want([alloc("a", { AllocModifyIndex: 6, DesiredStatus: "stop" })]);
    await h.advance(1100);
    expect(h.runners.all.get("a")!.calls).toContain("update stop");
    expect(h.link.last("a")).toMatchObject({ ClientStatus: "complete" });
    expect(h.node.counts()).toMatchObject({ allocations: 1, terminal: 1, tasks: { dead: 1 } });
  });

  it("is not asked for again when its index did not grow", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(300);
    const gets = (): number => h.link.calls.filter((c) => c.startsWith("get")).length;
    const before = gets();
    h.link.want([alloc("a")]);
    await h.advance(300);
    expect(gets()).toBe(before);
  });

  it("is ignored when an answer is older than what is known (hashicorp/nomad#18267)", async () => {
    const h = await start();
    h.link.want([alloc("a")], 100);
    await h.advance(1100);
    h.link.want([], 50);
    await h.advance(300);
    expect(h.runners.all.get("a")!.calls).not.toContain("destroy");
  });

  it("ends at once when the server has removed it, and leaves nothing", async () => {
    const h = await start();
    h.link.want([alloc("a"), alloc("b")]);
    await h.advance(1100);
    h.link.want([alloc("b")]);
    await h.advance(300);
    expect(h.runners.all.get("a")!.isDestroyed()).toBe(true);
    expect(h.state.list("allocations/a/")).toEqual([]);
    expect(h.node.registry.ids()).toEqual(["b"]);
  });

  it("is not started when it has ended already, and reported when it was stopped before it came", async () => {
    const h = await start();
    h.link.want([alloc("done", { ClientStatus: "complete" }), alloc("stopped", { DesiredStatus: "stop" })]);
    await h.advance(1100);
    expect(h.runners.all.size).toBe(0);
    expect(h.link.last("stopped")).toMatchObject({ ClientStatus: "complete" });
    expect(h.link.last("done")).toBeUndefined();
    h.link.want([alloc("done", { ClientStatus: "complete" })]);
    await h.advance(300);
    expect(h.link.calls.filter((c) => c === "get 1" || c === "get 2")).toHaveLength(1);
  });

  it("is reported as failed when it cannot be built, and tried no more", async () => {
    const runners = new FakeRunners();
    runners.behaviour = (a) => (a.ID === "bad" ? { failBuild: 'failed to lookup task group "x"' } : {});
    const h = await start({ runners });
    h.link.want([alloc("bad")]);
    await h.advance(1100);
    expect(h.link.last("bad")).toMatchObject({
      ClientStatus: "failed",
      ClientDescription: 'Unable to add allocation due to error: failed to lookup task group "x"',
      TaskStates: { t: { State: "dead", Failed: true } },
      DeploymentStatus: { Healthy: false },
    });
    expect(h.state.list("allocations/bad/")).toEqual([]);
    h.link.want([alloc("bad", { AllocModifyIndex: 7 })]);
    await h.advance(300);
    expect(h.runners.all.has("bad")).toBe(false);
    h.link.want([]);
    await h.advance(300);
    expect(h.node.registry.isInvalid("bad")).toBe(false);
  });

  it("is asked for again when the server gave less than was asked", async () => {
    const h = await start();
    h.link.hideAllocs = true;
    h.link.want([alloc("a")]);
    await h.advance(300);
    expect(h.runners.all.size).toBe(0);
    h.link.hideAllocs = false;
    await h.advance(4000);
    expect(h.runners.all.has("a")).toBe(true);
  });

  it("is followed on after failures of the server", async () => {
    const h = new NodeHarness();
    open.push(h);
    h.link.failWatch = 1;
    await h.start();
    h.link.want([alloc("a")]);
    await h.advance(2000);
    expect(h.runners.all.has("a")).toBe(true);
  });

  it("is started later when the disk is full at first", async () => {
    const h = await start();
    const write = h.state.write.bind(h.state);
    let full = true;
    (h.state as { write: typeof write }).write = (batch) =>
      full && Object.keys(batch.put ?? {}).some((key) => key.endsWith("/alloc"))
        ? Promise.reject(new OutriderError("ERR_OUTRIDER_STATE_FULL", "no space", { recoverable: true }))
        : write(batch);
    h.link.want([alloc("a")]);
    await h.advance(2500);
    expect(h.runners.all.has("a")).toBe(false);
    expect(h.node.registry.isInvalid("a")).toBe(false);
    full = false;
    await h.advance(1100);
    expect(h.runners.all.has("a")).toBe(true);
  });

  it("reconnects what the server had given up", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(1100);
    h.link.want([alloc("a", { AllocModifyIndex: 9, ClientStatus: "unknown" })]);
    await h.advance(300);
    expect(h.runners.all.get("a")!.calls).toEqual(["reconnect"]);
  });

  it("waits for the allocation that it replaces", async () => {
    const h = await start();
    h.link.want([alloc("old")]);
    await h.advance(300);
    h.link.want([alloc("old"), alloc("new", { PreviousAllocation: "old" })]);
    await h.advance(300);
    expect(h.runners.all.get("new")!.allocState().clientStatus).toBe("pending");
    expect(h.node.counts()).toMatchObject({ blocked: 1, running: 1 });
    h.link.want([
      alloc("old", { AllocModifyIndex: 8, DesiredStatus: "stop" }),
      alloc("new", { PreviousAllocation: "old" }),
    ]);
    await h.advance(300);
    expect(h.runners.all.get("new")!.allocState().clientStatus).toBe("running");
  });
});

describe("the next life of a node", () => {
  it("finds its allocations, does not report what the server knows, and starts nothing anew", async () => {
    const first = await start();
    first.link.want([alloc("a"), alloc("b")]);
    await first.advance(1100);
    await first.close();
    open.splice(open.indexOf(first), 1);
    expect(first.runners.all.get("a")!.calls).toEqual(["shutdown"]);
    const reports = first.link.updates.length;
    const second = first.next();
    open.push(second);
    await second.start();
    await second.advance(3000);
    expect([...second.runners.all.keys()].sort()).toEqual(["a", "b"]);
    expect(second.node.counts()).toMatchObject({ running: 2 });
    expect(second.link.updates).toHaveLength(reports);
  });

  it("reports nothing before the server was heard (hashicorp/nomad#16381)", async () => {
    const first = await start();
    first.link.want([alloc("a")]);
    await first.advance(300);
    await first.close();
    open.splice(open.indexOf(first), 1);
    const second = first.next();
    open.push(second);
    second.link.index = 0;
    const reports = second.link.updates.length;
    await second.start();
    await second.runners.all.get("a")!.end("failed", true);
    await second.advance(3000);
    expect(second.link.updates).toHaveLength(reports);
    second.link.want([alloc("a")], 200);
    await second.advance(1100);
    expect(second.link.last("a")).toMatchObject({ ClientStatus: "failed" });
  });

  it("forgets what never started here, and cleans up what cannot be restored", async () => {
    const h = new NodeHarness();
    open.push(h);
    await h.state.write({
      put: {
        "allocations/ghost/alloc": alloc("ghost"),
        "allocations/none/task-t/task_state": {},
        "allocations/broken/alloc": alloc("broken"),
        "allocations/broken/task-t/task_state": { State: "running" },
        "allocations/invalid/alloc": alloc("invalid"),
        "allocations/invalid/task-t/task_state": { State: "running" },
      },
    });
    h.runners.behaviour = (a) =>
      a.ID === "broken" ? { failRestore: "folder is gone" } : a.ID === "invalid" ? { failBuild: "driver is gone" } : {};
    h.link.want([alloc("broken"), alloc("invalid")]);
    await h.start();
    await h.advance(1100);
    expect(h.state.list("allocations/ghost/")).toEqual([]);
    expect(h.state.list("allocations/none/")).toEqual([]);
    expect(h.runners.all.get("broken")!.calls).toContain("destroy");
    expect(h.link.last("broken")).toMatchObject({ ClientStatus: "failed" });
    expect(h.link.last("invalid")).toMatchObject({ ClientStatus: "failed" });
  });
});

describe("reports", () => {
  it("are kept when the server cannot take them, and sent later", async () => {
    const h = await start();
    h.link.failUpdates = 1;
    h.link.want([alloc("a")]);
    await h.advance(1500);
    expect(h.link.last("a")).toBeUndefined();
    await h.advance(8000);
    expect(h.link.last("a")).toMatchObject({ ClientStatus: "running" });
  });

  it("of the last moment are sent before the node ends", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(1100);
    await h.runners.all.get("a")!.end("failed", true);
    const stopped = h.node.stop();
    await h.settle();
    await h.clock.advance(2000);
    await stopped;
    expect(h.link.last("a")).toMatchObject({ ClientStatus: "failed" });
    expect(h.link.handlers).toBeUndefined();
  });

  it("are saved by the runners each minute", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(300);
    await h.clock.advance(60_000);
    await h.settle();
    expect(h.runners.all.get("a")!.calls).toContain("persist");
  });
});

describe("garbage collection on the node", () => {
  const gc = { intervalMs: 60_000, diskUsagePercent: 100, inodeUsagePercent: 101, maxAllocs: 2, parallelDestroys: 2 };

  it("removes the oldest ended ones while there are too many, once the server knows their end", async () => {
    const removed: string[] = [];
    const h = await start({ options: { gc, onRemoved: (id) => removed.push(id) } });
    h.link.want([alloc("a"), alloc("b"), alloc("c")]);
    await h.advance(1100);
    h.link.failUpdates = 1;
    await h.runners.all.get("b")!.end("complete", false);
    await h.advance(300);
    expect(removed).toEqual([]);
    await h.advance(8000);
    expect(removed).toEqual(["b"]);
    expect(h.node.registry.ids()).toEqual(["a", "c"]);
    expect(h.runners.all.get("a")!.isDestroyed()).toBe(false);
  });

  it("does as the API asks, and refuses what still runs", async () => {
    const h = await start();
    h.link.want([alloc("a"), alloc("b"), alloc("c")]);
    await h.advance(1100);
    const { handlers } = h.link;
    await expect(handlers!.collectGarbage("a")).rejects.toMatchObject({
      code: "ERR_OUTRIDER_NODE_NOT_ELIGIBLE",
      message: "No such allocation on client, or allocation not eligible for GC",
    });
    await h.runners.all.get("a")!.end("complete", false);
    await h.runners.all.get("b")!.end("complete", false);
    await h.advance(1100);
    await handlers!.collectGarbage("a");
    expect(handlers!.hasAlloc("a")).toBe(false);
    await handlers!.collectGarbage();
    expect(h.node.registry.ids()).toEqual(["c"]);
  });

  it("says so once in a while when nothing is left to remove", async () => {
    const h = await start({ options: { gc: { ...gc, maxAllocs: 0 } } });
    h.link.want([alloc("a")]);
    await h.advance(300);
    await h.clock.advance(60_000);
    await h.settle();
    expect(h.logs.filter(([, text]) => text.includes("nothing is left")).map(([level]) => level)).toContain("warn");
  });
});

describe("reverse calls", () => {
  it("reach the runner, and name what is unknown", async () => {
    const h = await start();
    h.link.want([alloc("a")]);
    await h.advance(300);
    const call = h.link.handlers!;
    await call.signal("a", "t", "SIGHUP");
    await call.restart("a", { task: "t", allTasks: false });
    await call.restart("a", { task: "", allTasks: false });
    await call.restart("a", { task: "", allTasks: true });
    expect(h.runners.all.get("a")!.calls).toEqual(["signal t SIGHUP", "restart t", "restart running", "restart all"]);
    await expect(call.restart("a", { task: "t", allTasks: true })).rejects.toThrow(
      "task name cannot be set when restarting all tasks",
    );
    await call.setPause("a", "t", "force_pause");
    expect(await call.getPause("a", "t")).toBe("force_pause");
    await expect(call.setPause("a", "t", "scheduled_pause")).rejects.toThrow("not a valid task schedule state");
    expect((await call.allocStats("a")).Tasks).toHaveProperty("t");
    expect(await call.checks("a")).toEqual({});
    expect(call.allocFs("a")).toBeDefined();
    expect((await call.hostStats()).Memory!.Total).toBeGreaterThan(0);
    expect(() =>
      call.logs(
        "a",
        { task: "x", type: "stdout", follow: false, offset: 0, origin: "start" },
        new AbortController().signal,
      ),
    ).toThrow('unknown task name "x"');
    await expect(call.allocStats("none")).rejects.toMatchObject({
      code: "ERR_OUTRIDER_NODE_UNKNOWN_ALLOC",
      message: 'Unknown allocation "none"',
    });
    h.link.want([alloc("a"), alloc("p", { PreviousAllocation: "a" })]);
    await h.advance(300);
    expect(() =>
      call.logs(
        "p",
        { task: "t", type: "stdout", follow: false, offset: 0, origin: "start" },
        new AbortController().signal,
      ),
    ).toThrow('task "t" not started yet. No logs available');
  });
});
