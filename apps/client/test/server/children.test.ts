import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobBody, ServerHarness } from "./harness.ts";

let h: ServerHarness;
beforeEach(async () => void (h = await new ServerHarness().start()));
afterEach(() => h.server[Symbol.asyncDispose]());

const children = (parent: string): string[] =>
  h.server.state.tables.jobs
    .by("parent", `default\n${parent}`)
    .map((j) => j.ID)
    .sort();
const summaryOf = (parent: string): unknown => h.server.state.tables.summaries.get(`default\n${parent}`)!.Children;

describe("periodic jobs", () => {
  const nightly = (more: object = {}): Record<string, unknown> =>
    jobBody("nightly", {
      Type: "batch",
      Periodic: { Enabled: true, Specs: ["*/10 * * * *"], SpecType: "cron", TimeZone: "UTC", ...more },
    });

  it("start a child at each time, and nothing before", async () => {
    const reply = await h.submit(nightly());
    expect(reply).toMatchObject({ evalId: "", evalCreateIndex: 0 });
    expect(h.job("nightly").Status).toBe("running");
    expect(h.allocs("nightly")).toEqual([]);
    await h.advance(9 * 60_000);
    expect(children("nightly")).toEqual([]);
    await h.advance(61_000);
    const at = 1_767_225_600 + 600;
    expect(children("nightly")).toEqual([`nightly/periodic-${at}`]);
    expect(h.live(`nightly/periodic-${at}`)).toHaveLength(1);
    expect(h.evals(`nightly/periodic-${at}`)[0]!.TriggeredBy).toBe("periodic-job");
    expect(summaryOf("nightly")).toEqual({ Pending: 0, Running: 1, Dead: 0 });
    await h.obey(`nightly/periodic-${at}`, false);
    await h.report(h.live(`nightly/periodic-${at}`)[0]!, "complete");
    expect(summaryOf("nightly")).toEqual({ Pending: 0, Running: 0, Dead: 1 });
    await h.advance(600_000);
    expect(children("nightly")).toHaveLength(2);
  });

  it("leave a time out while a child still runs, when overlap is prohibited", async () => {
    await h.submit(nightly({ ProhibitOverlap: true }));
    await h.advance(10 * 60_000 + 1000);
    await h.advance(10 * 60_000);
    expect(children("nightly")).toHaveLength(1);
    await h.report(h.live(children("nightly")[0]!)[0]!, "complete");
    await h.advance(10 * 60_000);
    expect(children("nightly")).toHaveLength(2);
  });

  it("are started once for all times that passed while the agent was down, never twice", async () => {
    await h.submit(nightly());
    await h.server[Symbol.asyncDispose]();
    await h.clock.advance(35 * 60_000);
    await h.restart();
    expect(children("nightly")).toHaveLength(1);
    await h.restart();
    expect(children("nightly")).toHaveLength(1);
    await h.server[Symbol.asyncDispose]();
    await h.clock.advance(30 * 86_400_000);
    await h.restart();
    expect(children("nightly")).toHaveLength(2);
  });

  it("can be forced, end with a stop, and cannot be evaluated", async () => {
    await h.submit(nightly());
    const reply = await h.server.forcePeriodic("default", "nightly");
    await h.settle();
    expect(children("nightly")).toHaveLength(1);
    expect(reply.evalId).not.toBe("");
    await expect(h.server.forcePeriodic("default", "none")).rejects.toThrow("can't force run non-tracked job");
    await expect(h.server.evaluate("default", "nightly")).rejects.toThrow("can't evaluate periodic job");
    await h.server.deregister("default", "nightly");
    await h.advance(3_600_000);
    expect(children("nightly")).toHaveLength(1);
    expect(h.job("nightly").Status).toBe("dead");
  });
});

describe("parameterized jobs", () => {
  const resize = (more: object = {}): Record<string, unknown> =>
    jobBody("resize", {
      Type: "batch",
      ParameterizedJob: { Payload: "optional", MetaRequired: ["size"], MetaOptional: ["format"], ...more },
    });

  it("run an instance for each dispatch, with its meta and payload", async () => {
    await h.submit(resize());
    expect(h.job("resize").Status).toBe("running");
    const reply = await h.server.dispatch("default", "resize", { payload: "aGk=", meta: { size: "10" }, priority: 70 });
    await h.settle();
    expect(reply.dispatchedJobId).toMatch(/^resize\/dispatch-\d+-/);
    const child = h.job(reply.dispatchedJobId);
    expect(child).toMatchObject({
      ParentID: "resize",
      Dispatched: true,
      Payload: "aGk=",
      Meta: { size: "10" },
      Priority: 70,
      Status: "running",
    });
    expect(h.live(child.ID)).toHaveLength(1);
    expect(summaryOf("resize")).toEqual({ Pending: 0, Running: 1, Dead: 0 });
  });

  it("check what a dispatch gives", async () => {
    await h.submit(resize());
    const dispatch = (meta: Record<string, string>, payload: string | null = null): Promise<unknown> =>
      h.server.dispatch("default", "resize", { payload, meta });
    await expect(dispatch({})).rejects.toThrow("Dispatch did not provide required meta keys: [size]");
    await expect(dispatch({ size: "1", b: "", a: "" })).rejects.toThrow(
      "Dispatch request included unpermitted metadata keys: [a b]",
    );
    await expect(dispatch({ size: "1" }, Buffer.alloc(70_000).toString("base64"))).rejects.toThrow(
      "Payload exceeds maximum size",
    );
    await expect(h.server.dispatch("default", "none", { payload: null, meta: {} })).rejects.toThrow(
      "parameterized job not found",
    );
    await expect(
      h.server.dispatch("default", "resize", { payload: null, meta: { size: "1" }, idPrefixTemplate: "x" }),
    ).rejects.toMatchObject({ code: "ERR_OUTRIDER_SERVER_UNSUPPORTED" });
    await h.submit(resize({ Payload: "required" }));
    await expect(dispatch({ size: "1" })).rejects.toThrow("Payload is not provided but required");
    await h.submit(resize({ Payload: "forbidden" }));
    await expect(dispatch({ size: "1" }, "aGk=")).rejects.toThrow("Payload is not allowed");
    await h.submit(jobBody("plain"));
    await expect(h.server.dispatch("default", "plain", { payload: null, meta: {} })).rejects.toThrow(
      "is not a parameterized job",
    );
    await h.server.deregister("default", "resize");
    await expect(dispatch({ size: "1" })).rejects.toThrow("is stopped");
    await expect(h.server.evaluate("default", "resize")).rejects.toThrow("can't evaluate parameterized job");
  });

  it("give one instance for one idempotency token", async () => {
    await h.submit(resize());
    const request = { payload: null, meta: { size: "1" }, idempotencyToken: "once" };
    const one = await h.server.dispatch("default", "resize", request);
    const two = await h.server.dispatch("default", "resize", request);
    expect(two.dispatchedJobId).toBe(one.dispatchedJobId);
    expect(children("resize")).toHaveLength(1);
  });
});

describe("forgetting what has ended", () => {
  it("removes dead batch jobs, their evaluations and allocations, not what is alive", async () => {
    await h.submit(jobBody("b", { Type: "batch" }));
    await h.submit(jobBody("web"));
    await h.obey("web");
    await h.report(h.live("b")[0]!, "complete");
    await h.server.collectGarbage();
    await h.settle();
    expect(h.job("b")).toBeUndefined();
    expect(h.allocs("b")).toEqual([]);
    expect(h.evals("b")).toEqual([]);
    expect(h.live("web")).toHaveLength(1);
    expect(h.server.state.tables.versions.by("job", "default\nb")).toEqual([]);
  });

  it("keeps finished batch work as long as its job may be submitted again", async () => {
    await h.submit(jobBody("b", { Type: "batch" }));
    await h.report(h.live("b")[0]!, "complete");
    await h.advance(3 * 3_600_000);
    expect(h.allocs("b")).toHaveLength(1);
    await h.submit(jobBody("b", { Type: "batch" }));
    expect(h.live("b")).toEqual([]);
    await h.advance(30 * 3_600_000);
    expect(h.job("b")).toBeUndefined();
  });

  it("keeps a service that nobody stopped, and forgets a stopped one", async () => {
    await h.submit(jobBody("web", {}, { ReschedulePolicy: { Attempts: 0, Unlimited: false } }));
    await h.report(h.live("web")[0]!, "failed");
    await h.advance(10 * 3_600_000);
    expect(h.job("web")).toBeDefined();
    await h.server.deregister("default", "web");
    await h.settle();
    await h.advance(10 * 3_600_000);
    expect(h.job("web")).toBeUndefined();
    expect(h.deployments("web")).toEqual([]);
  });

  it("tells the node that collected allocations are gone", async () => {
    const signal = new AbortController().signal;
    await h.submit(jobBody("b", { Type: "batch" }));
    await h.report(h.live("b")[0]!, "complete");
    const before = await h.server.link.watchAllocs({
      nodeId: h.allocs("b")[0]!.NodeID,
      minIndex: 0,
      waitMs: 1,
      signal,
    });
    await h.server.collectGarbage();
    const after = await h.server.link.watchAllocs({
      nodeId: "11111111-1111-1111-1111-111111111111",
      minIndex: before.index,
      waitMs: 1,
      signal,
    });
    expect(after.index).toBeGreaterThan(before.index);
    expect(after.allocs.size).toBe(0);
  });
});

describe("changes that come together", () => {
  it("share a write, see one another, and fail each by itself", async () => {
    const write = h.store.write.bind(h.store);
    let writes = 0;
    (h.store as { write: typeof write }).write = (batch) => {
      writes += 1;
      return write(batch);
    };
    const { state } = h.server;
    const index = state.index;
    const results = await Promise.allSettled([
      state.commit((tx) => tx.launches.put("a", { Namespace: "a", ID: String(tx.index), LaunchMs: 1 })),
      state.commit(() => {
        throw new Error("mine alone");
      }),
      state.commit((tx) => [tx.launches.get("a")?.ID, tx.index]),
      state.commit((tx) => tx.launches.delete("a")),
      state.commit((tx) => tx.launches.all().length),
    ]);
    expect(results.map((r) => (r.status === "fulfilled" ? r.value : "failed"))).toEqual([
      undefined,
      "failed",
      [String(index + 1), index + 2],
      undefined,
      0,
    ]);
    expect(writes).toBe(1);
    expect(state.index).toBe(index + 2);
  });

  it("are tried one by one when the store refuses them together", async () => {
    const write = h.store.write.bind(h.store);
    (h.store as { write: typeof write }).write = (batch) =>
      Object.keys(batch.put ?? {}).some((key) => key.includes("big"))
        ? Promise.reject(new Error("too big"))
        : write(batch);
    const { state } = h.server;
    const put = (ID: string): Promise<void> =>
      state.commit((tx) => tx.launches.put(ID, { Namespace: "n", ID, LaunchMs: 1 }));
    const results = await Promise.allSettled([put("one"), put("big"), put("two")]);
    expect(results.map((r) => r.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect([...state.tables.launches.values()].map((l) => l.ID)).toEqual(["one", "two"]);
  });
});

describe("a store that fails", () => {
  it("changes nothing, tells the caller, and the scheduler goes on later", async () => {
    const write = h.store.write.bind(h.store);
    let broken = true;
    (h.store as { write: typeof write }).write = (batch) =>
      broken ? Promise.reject(Object.assign(new Error("full"), { code: "ERR_OUTRIDER_STATE_FULL" })) : write(batch);
    await expect(h.server.register(jobBody("web"))).rejects.toThrow("full");
    expect(h.job("web")).toBeUndefined();
    broken = false;
    await h.server.register(jobBody("web"));
    broken = true;
    await h.settle();
    broken = false;
    await h.advance(2000);
    expect(h.live("web")).toHaveLength(1);
  });
});
