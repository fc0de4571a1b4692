import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openJournalStore } from "../../src/state/index.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jobBody, NODE_ID, ServerHarness, testNode } from "./harness.ts";

let h: ServerHarness;
beforeEach(async () => void (h = await new ServerHarness().start()));
afterEach(() => h.server[Symbol.asyncDispose]());

describe("jobs on the embedded server", () => {
  it("places a new service with a deployment, and counts it healthy to the end", async () => {
    const reply = await h.submit(jobBody("web", {}, { Count: 2 }));
    const [evaluation] = h.evals("web");
    expect(evaluation).toMatchObject({
      ID: reply.evalId,
      TriggeredBy: "job-register",
      Status: "complete",
      JobModifyIndex: reply.jobModifyIndex,
      QueuedAllocations: { g: 0 },
      PlanAnnotations: { DesiredTGUpdates: { g: { Place: 2, Ignore: 0, Stop: 0 } } },
    });
    expect(h.allocs("web").map((a) => [a.Name, a.DesiredStatus, a.ClientStatus, a.NodeID])).toEqual([
      ["web.g[0]", "run", "pending", NODE_ID],
      ["web.g[1]", "run", "pending", NODE_ID],
    ]);
    expect(h.job("web").Status).toBe("running");
    expect(h.summary("web")).toMatchObject({ Starting: 2, Running: 0, Queued: 0 });
    expect(h.deployments("web")[0]).toMatchObject({
      Status: "running",
      StatusDescription: "Deployment is running",
      TaskGroups: { g: { DesiredTotal: 2, PlacedAllocs: 2, HealthyAllocs: 0 } },
    });
    await h.obey("web");
    expect(h.deployments("web")[0]).toMatchObject({
      Status: "successful",
      StatusDescription: "Deployment completed successfully",
      TaskGroups: { g: { HealthyAllocs: 2 } },
    });
    expect(h.job("web").Stable).toBe(true);
    expect(h.summary("web")).toMatchObject({ Starting: 0, Running: 2 });
  });

  it("gives indexes that only grow, the evaluation's last", async () => {
    const reply = await h.submit(jobBody("web"));
    const [evaluation] = h.evals("web");
    const [alloc] = h.allocs("web");
    expect(reply.evalCreateIndex).toBe(reply.jobModifyIndex);
    expect(alloc!.CreateIndex).toBeGreaterThan(reply.evalCreateIndex);
    expect(evaluation!.ModifyIndex).toBeGreaterThan(alloc!.CreateIndex);
    expect(h.server.state.index).toBeGreaterThanOrEqual(evaluation!.ModifyIndex);
  });

  it("keeps the version when nothing in a job has changed, and makes one when something has", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    await h.submit(jobBody("web"));
    expect(h.job("web").Version).toBe(0);
    expect(h.live("web")).toHaveLength(1);
    await h.submit(jobBody("web", { Priority: 70 }));
    expect(h.job("web")).toMatchObject({ Version: 1, Priority: 70 });
    expect(h.server.state.tables.versions.by("job", "default\nweb")).toHaveLength(2);
  });

  it("takes a change in place when the processes can live on under it", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    const [before] = h.allocs("web");
    await h.submit(jobBody("web", {}, {}, { KillTimeout: 9_000_000_000 }));
    const [after, ...more] = h.allocs("web");
    expect(more).toEqual([]);
    expect(after).toMatchObject({ ID: before!.ID, DesiredStatus: "run", Job: { Version: 1 }, DeploymentStatus: null });
    expect(after!.AllocModifyIndex).toBeGreaterThan(before!.AllocModifyIndex);
    expect(h.evals("web").at(-1)!.PlanAnnotations!.DesiredTGUpdates!["g"]).toMatchObject({
      InPlaceUpdate: 1,
      DestructiveUpdate: 0,
    });
    await h.obey("web");
    expect(h.deployments("web").map((d) => d.Status)).toEqual(["successful", "successful"]);
  });

  it("replaces instances one by one when they cannot, each after the one before is healthy", async () => {
    await h.submit(jobBody("web", {}, { Count: 3, Update: { MaxParallel: 1 } }));
    await h.obey("web");
    await h.submit(jobBody("web", {}, { Count: 3, Update: { MaxParallel: 1 } }, { Env: { A: "2" } }));
    expect(h.allocs("web").filter((a) => a.Job!.Version === 1)).toHaveLength(1);
    const [stopped] = h.allocs("web").filter((a) => a.DesiredStatus === "stop");
    const [fresh] = h.allocs("web").filter((a) => a.Job!.Version === 1);
    expect(stopped).toMatchObject({
      DesiredDescription: "alloc is being updated due to job update",
      NextAllocation: fresh!.ID,
    });
    expect(fresh).toMatchObject({ PreviousAllocation: stopped!.ID, Name: stopped!.Name });
    await h.report(stopped!, "complete");
    await h.report(fresh!, "running");
    expect(h.allocs("web").filter((a) => a.Job!.Version === 1)).toHaveLength(1);
    await h.obey("web");
    expect(h.live("web").map((a) => a.Job!.Version)).toEqual([1, 1, 1]);
    expect(h.deployments("web").at(-1)).toMatchObject({
      Status: "successful",
      TaskGroups: { g: { PlacedAllocs: 3, HealthyAllocs: 3 } },
    });
  });

  it("cancels a deployment when a newer version comes", async () => {
    await h.submit(jobBody("web"));
    await h.submit(jobBody("web", {}, {}, { Env: { A: "2" } }));
    expect(h.deployments("web").map((d) => [d.JobVersion, d.Status, d.StatusDescription])).toEqual([
      [0, "cancelled", "Cancelled due to newer version of job"],
      [1, "running", "Deployment is running"],
    ]);
  });

  it("fails a deployment that makes no progress, and goes back to the stable version when asked to", async () => {
    const update = {
      Update: {
        MaxParallel: 1,
        AutoRevert: true,
        MinHealthyTime: 1_000_000_000,
        HealthyDeadline: 10_000_000_000,
        ProgressDeadline: 60_000_000_000,
      },
    };
    await h.submit(jobBody("web", {}, update));
    await h.obey("web");
    await h.submit(jobBody("web", {}, update, { Env: { BAD: "1" } }));
    await h.obey("web", false);
    await h.advance(61_000);
    expect(h.deployments("web")[1]).toMatchObject({
      Status: "failed",
      StatusDescription: "Failed due to progress deadline - rolling back to job version 0",
    });
    expect(h.job("web")).toMatchObject({ Version: 2 });
    expect(h.job("web").TaskGroups![0]!.Tasks![0]!.Env).toBeNull();
    await h.obey("web");
    expect(h.deployments("web").at(-1)!.Status).toBe("successful");
  });

  it("stops a job: instances, deployment and what waits", async () => {
    await h.submit(jobBody("web", {}, { Count: 20 }));
    expect(h.evals("web").some((e) => e.Status === "blocked")).toBe(true);
    const reply = await h.server.deregister("default", "web");
    await h.settle();
    expect(h.evals("web").find((e) => e.ID === reply.evalId)).toMatchObject({
      TriggeredBy: "job-deregister",
      Status: "complete",
    });
    expect(
      h
        .allocs("web")
        .every((a) => a.DesiredStatus === "stop" && a.DesiredDescription === "alloc not needed due to job update"),
    ).toBe(true);
    expect(h.deployments("web")[0]).toMatchObject({
      Status: "cancelled",
      StatusDescription: "Cancelled because job is stopped",
    });
    expect(h.job("web")).toMatchObject({ Stop: true, Version: 1, Status: "running" });
    await h.obey("web");
    expect(h.job("web").Status).toBe("dead");
    expect(h.evals("web").every((e) => e.Status !== "blocked" && e.Status !== "pending")).toBe(true);
    await expect(h.server.deregister("default", "nope")).rejects.toMatchObject({
      code: "ERR_OUTRIDER_SERVER_NOT_FOUND",
      message: "job not found",
    });
  });

  it("purges a job and still ends its instances", async () => {
    await h.submit(jobBody("web"));
    await h.server.deregister("default", "web", { purge: true, noShutdownDelay: true });
    await h.settle();
    expect(h.job("web")).toBeUndefined();
    expect(h.allocs("web")[0]).toMatchObject({ DesiredStatus: "stop", DesiredTransition: { NoShutdownDelay: true } });
    await h.submit(jobBody("web"));
    expect(h.job("web").Version).toBe(0);
    const [old] = h.allocs("web");
    await h.report(old!, "complete");
    expect(h.summary("web")).toMatchObject({ Starting: 1, Complete: 0 });
  });

  it("starts a stopped job again as a new version", async () => {
    await h.submit(jobBody("web"));
    await h.server.deregister("default", "web");
    await h.settle();
    await h.obey("web");
    await h.submit(jobBody("web"));
    expect(h.job("web")).toMatchObject({ Stop: false, Version: 2, Status: "running" });
    expect(h.live("web")).toHaveLength(1);
  });

  it("counts a batch job's ends, keeps finished instances and is dead then", async () => {
    await h.submit(jobBody("b", { Type: "batch" }, { Count: 2 }));
    const [one, two] = h.allocs("b");
    await h.report(one!, "running");
    await h.report(one!, "complete");
    expect(h.job("b").Status).toBe("running");
    await h.report(two!, "complete");
    expect(h.job("b").Status).toBe("dead");
    expect(h.summary("b")).toMatchObject({ Complete: 2, Running: 0, Starting: 0 });
    await h.submit(jobBody("b", { Type: "batch" }, { Count: 2 }));
    expect(h.allocs("b")).toHaveLength(2);
    await h.submit(jobBody("b", { Type: "batch" }, { Count: 2 }, { Env: { A: "1" } }));
    expect(h.live("b")).toHaveLength(2);
  });

  it("checks the index that a client enforces", async () => {
    await expect(h.server.register(jobBody("web"), { enforceIndex: true, jobModifyIndex: 5 })).rejects.toThrow(
      "Enforcing job modify index 5: job does not exist",
    );
    const reply = await h.submit(jobBody("web"), { enforceIndex: true, jobModifyIndex: 0 });
    await expect(h.server.register(jobBody("web"), { enforceIndex: true, jobModifyIndex: 0 })).rejects.toThrow(
      "Enforcing job modify index 0: job already exists",
    );
    await expect(h.server.register(jobBody("web"), { enforceIndex: true, jobModifyIndex: 1 })).rejects.toThrow(
      `Enforcing job modify index 1: job exists with conflicting job modify index: ${reply.jobModifyIndex}`,
    );
    await h.submit(jobBody("web", { Priority: 60 }), { enforceIndex: true, jobModifyIndex: reply.jobModifyIndex });
  });

  it("refuses a job with anything wrong, whole, with every error in it", async () => {
    await expect(
      h.server.register(jobBody("web", { Datacenters: [] }, {}, { Driver: "docker", KillSignal: "SIGNOPE" })),
    ).rejects.toMatchObject({
      code: "ERR_OUTRIDER_SERVER_INVALID",
      message: expect.stringMatching(/errors occurred:\n\t\* /),
    });
    await expect(
      h.server.register(jobBody("web", {}, { Tasks: [{ Name: "..", Driver: "raw_exec" }] })),
    ).rejects.toMatchObject({ code: "ERR_OUTRIDER_SERVER_INVALID" });
    await expect(h.server.register(jobBody("a\nb"))).rejects.toMatchObject({ code: "ERR_OUTRIDER_SERVER_INVALID" });
    await expect(h.server.register(jobBody("web", {}, { Update: { Canary: 1 } }))).rejects.toThrow("canaries");
    await expect(h.server.register(jobBody("web", { Region: "mars" }))).rejects.toThrow("mars");
    expect(h.job("web")).toBeUndefined();
    expect(h.server.state.tables.evals.size).toBe(0);
  });

  it("takes jobs whose disks outlive their allocations, and names the one that is replaced", async () => {
    const disk = { EphemeralDisk: { Sticky: true, Migrate: true, SizeMB: 300 } };
    await h.submit(jobBody("web", {}, disk));
    await h.obey("web");
    const [before] = h.live("web");
    await h.submit(jobBody("web", {}, disk, { Env: { A: "2" } }));
    await h.obey("web");
    const [after] = h.live("web");
    expect([after?.PreviousAllocation, after?.Job?.TaskGroups?.[0]?.EphemeralDisk]).toMatchObject([
      before?.ID,
      { Sticky: true, Migrate: true },
    ]);
  });

  it("goes back to an earlier version, and scales", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    await h.submit(jobBody("web", {}, {}, { Env: { A: "2" } }));
    await h.obey("web");
    await expect(h.server.revert("default", "web", 1)).rejects.toThrow("can't revert to current version");
    await expect(h.server.revert("default", "web", 9)).rejects.toThrow("at version 9 not found");
    await expect(h.server.revert("default", "web", 0, { enforcePriorVersion: 0 })).rejects.toThrow(
      "enforcing version 0",
    );
    await expect(h.server.revert("default", "none", 0)).rejects.toThrow("job not found");
    await h.server.revert("default", "web", 0);
    await h.settle();
    expect(h.job("web")).toMatchObject({ Version: 2 });
    expect(h.job("web").TaskGroups![0]!.Tasks![0]!.Env).toBeNull();
    await h.obey("web");
    await h.server.scale("default", "web", "g", 3);
    await h.settle();
    expect(h.live("web")).toHaveLength(3);
    expect(h.evals("web").filter((e) => e.TriggeredBy === "job-scaling")).toHaveLength(1);
    await h.obey("web");
    await h.server.scale("default", "web", "g", 1);
    await h.settle();
    expect(h.live("web").map((a) => a.Name)).toEqual(["web.g[0]"]);
    await expect(h.server.scale("default", "web", "x", 1)).rejects.toThrow('task group "x"');
    expect((await h.server.scale("default", "web", "g", null)).evalId).toBe("");
    for (const count of [1_000_000_000, -1])
      await expect(h.server.scale("default", "web", "g", count)).rejects.toMatchObject({
        code: "ERR_OUTRIDER_SERVER_INVALID",
      });
    expect(h.job("web").TaskGroups![0]!.Count).toBe(1);
  });

  it("ends the instances of a group that is taken out of a job", async () => {
    const groups = (names: string[]): object => ({
      TaskGroups: names.map((Name) => ({
        Name,
        Count: 1,
        Tasks: [
          { Name: "t", Driver: "raw_exec", Config: { command: "/bin/true" }, Resources: { CPU: 10, MemoryMB: 10 } },
        ],
      })),
    });
    await h.submit(jobBody("web", groups(["a", "b"]) as never));
    await h.submit(jobBody("web", groups(["a"]) as never));
    expect(h.allocs("web", "b")[0]).toMatchObject({ DesiredStatus: "stop" });
    expect(h.allocs("web", "a")[0]).toMatchObject({ DesiredStatus: "run" });
  });

  it("keeps six versions, those in use and a stable one", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    for (let i = 1; i <= 9; i++) await h.submit(jobBody("web", { Priority: 50 + i }));
    const versions = h.server.state.tables.versions
      .by("job", "default\nweb")
      .map((v) => v.Version)
      .sort((a, b) => a - b);
    expect(versions).toEqual([0, 4, 5, 6, 7, 8, 9]);
  });

  it("runs system and sysbatch jobs once on the node", async () => {
    await h.submit(jobBody("sys", { Type: "system" }));
    await h.submit(jobBody("once", { Type: "sysbatch" }));
    expect(h.live("sys")).toHaveLength(1);
    expect(h.live("once")).toHaveLength(1);
    await h.report(h.allocs("once")[0]!, "complete");
    expect(h.job("once").Status).toBe("dead");
    await h.server.evaluate("default", "once");
    await h.settle();
    expect(h.allocs("once")).toHaveLength(1);
    await h.submit(jobBody("sys", { Type: "system" }, {}, { Env: { A: "1" } }));
    await h.obey("sys");
    expect(h.live("sys").map((a) => a.Job!.Version)).toEqual([1]);
    await h.submit(jobBody("sys", { Type: "system" }, {}, { Env: { A: "1" }, KillTimeout: 1_000_000_000 }));
    expect(h.allocs("sys")).toHaveLength(2);
    await h.report(h.live("sys")[0]!, "failed");
    await h.server.setEligibility(NODE_ID, "ineligible");
    await h.server.setEligibility(NODE_ID, "eligible");
    await h.settle();
    expect(h.live("sys")).toHaveLength(1);
    expect(h.evals("sys").at(-1)!.TriggeredBy).toBe("node-update");
  });

  it("has everything again after a kill, with a higher index and the same jobs inside allocations", async () => {
    const dir = mkdtempSync(join(tmpdir(), "outrider-server-"));
    try {
      const store = await openJournalStore({ dir });
      const k = await new ServerHarness({ store }).start();
      await k.submit(jobBody("web", {}, { Count: 2 }));
      await k.obey("web");
      await k.submit(jobBody("web", {}, { Count: 2 }, { Env: { A: "2" } }));
      const before = {
        index: k.server.state.index,
        allocs: k.allocs("web"),
        evals: k.evals("web"),
        deployments: k.deployments("web"),
      };
      await k.server[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      const again = await openJournalStore({ dir });
      const l = new ServerHarness({ store: again, clock: k.clock });
      expect(l.server.state.index).toBe(before.index);
      expect(l.allocs("web").map((a) => a.ID)).toEqual(before.allocs.map((a) => a.ID));
      expect(l.allocs("web").map((a) => a.Job!.Version)).toEqual(before.allocs.map((a) => a.Job!.Version));
      expect(l.evals("web")).toEqual(before.evals);
      expect(l.deployments("web")).toEqual(before.deployments);
      l.server.start();
      await l.settle();
      await l.obey("web");
      expect(l.live("web").map((a) => a.Job!.Version)).toEqual([1, 1]);
      await l.server[Symbol.asyncDispose]();
      await again[Symbol.asyncDispose]();
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it("goes on with evaluations that were pending when it was killed", async () => {
    const k = new ServerHarness();
    await k.server.register(jobBody("web"));
    expect(k.allocs("web")).toEqual([]);
    await k.restart();
    await k.join(testNode());
    expect(k.live("web")).toHaveLength(1);
    await k.server[Symbol.asyncDispose]();
  });
});
