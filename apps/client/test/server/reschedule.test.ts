import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReschedulePolicy } from "@outrider/nomad-structs";
import { nextDelayNs } from "../../src/server/reschedule.ts";
import { jobBody, NODE_ID, ServerHarness } from "./harness.ts";

let h: ServerHarness;
beforeEach(async () => void (h = await new ServerHarness().start()));
afterEach(() => h.server[Symbol.asyncDispose]());

const S = 1_000_000_000;
const policy = (more: Partial<ReschedulePolicy>): { ReschedulePolicy: ReschedulePolicy } => ({
  ReschedulePolicy: {
    Attempts: 0,
    Interval: 0,
    Delay: 30 * S,
    DelayFunction: "exponential",
    MaxDelay: 600 * S,
    Unlimited: true,
    ...more,
  },
});

describe("rescheduling", () => {
  it("replaces a failed service instance after the policy's delay, which doubles", async () => {
    await h.submit(jobBody("web", {}, policy({})));
    let [alloc] = h.live("web");
    await h.report(alloc!, "running");
    await h.report(alloc!, "failed");
    expect(h.live("web")).toEqual([]);
    const followUp = h.evals("web").find((e) => e.WaitUntil !== null)!;
    expect(followUp).toMatchObject({
      Status: "pending",
      TriggeredBy: "alloc-failure",
      StatusDescription: "created for delayed rescheduling",
    });
    expect(h.allocs("web")[0]!.FollowupEvalID).toBe(followUp.ID);
    expect(h.job("web").Status).toBe("running");
    await h.advance(25_000);
    expect(h.live("web")).toEqual([]);
    await h.advance(6000);
    expect(h.live("web")).toHaveLength(1);
    const failed = alloc!.ID;
    [alloc] = h.live("web");
    expect(alloc).toMatchObject({
      PreviousAllocation: failed,
      RescheduleTracker: { Events: [{ PrevAllocID: failed, PrevNodeID: NODE_ID, Delay: 30 * S }] },
    });
    expect(h.allocs("web").find((a) => a.ID === failed)).toMatchObject({
      DesiredStatus: "stop",
      DesiredDescription: "alloc was rescheduled because it failed",
      NextAllocation: alloc!.ID,
    });
    await h.report(alloc!, "failed");
    await h.advance(50_000);
    expect(h.live("web")).toEqual([]);
    await h.advance(15_000);
    expect(h.live("web")[0]!.RescheduleTracker!.Events).toHaveLength(2);
  });

  it("replaces no more than the policy's attempts within its interval", async () => {
    await h.submit(
      jobBody(
        "b",
        { Type: "batch" },
        policy({
          Attempts: 1,
          Interval: 3600 * S,
          Delay: 5 * S,
          DelayFunction: "constant",
          MaxDelay: 0,
          Unlimited: false,
        }),
      ),
    );
    await h.report(h.live("b")[0]!, "failed");
    await h.advance(6000);
    expect(h.live("b")).toHaveLength(1);
    await h.report(h.live("b")[0]!, "failed");
    await h.advance(60_000);
    expect(h.live("b")).toEqual([]);
    expect(h.job("b").Status).toBe("dead");
    expect(h.summary("b")).toMatchObject({ Failed: 2 });
  });

  it("never replaces where the policy says so, and does when it is forced", async () => {
    await h.submit(jobBody("web", {}, policy({ Unlimited: false, Attempts: 0 })));
    await h.report(h.live("web")[0]!, "failed");
    await h.advance(3_600_000);
    expect(h.live("web")).toEqual([]);
    await h.server.evaluate("default", "web", { forceReschedule: true });
    await h.settle();
    expect(h.live("web")).toHaveLength(1);
    await expect(h.server.evaluate("default", "none")).rejects.toThrow("job not found");
  });

  it("forgets what waits when the job is stopped", async () => {
    await h.submit(jobBody("web", {}, policy({})));
    await h.report(h.live("web")[0]!, "failed");
    await h.server.deregister("default", "web");
    await h.settle();
    await h.advance(120_000);
    expect(h.live("web")).toEqual([]);
    expect(h.job("web").Status).toBe("dead");
    expect(h.evals("web").every((e) => e.Status === "complete" || e.Status === "canceled")).toBe(true);
  });

  it("keeps a waiting replacement over a restart of the server", async () => {
    await h.submit(jobBody("web", {}, policy({})));
    await h.report(h.live("web")[0]!, "failed");
    await h.restart();
    expect(h.live("web")).toEqual([]);
    await h.advance(31_000);
    expect(h.live("web")).toHaveLength(1);
  });

  it("starts a changed job at once instead of waiting out the delay of the old one", async () => {
    await h.submit(jobBody("web", {}, policy({})));
    await h.report(h.live("web")[0]!, "failed");
    await h.submit(jobBody("web", {}, policy({}), { Env: { FIXED: "1" } }));
    expect(h.live("web").map((a) => a.Job!.Version)).toEqual([1]);
    await h.advance(120_000);
    expect(h.live("web")).toHaveLength(1);
  });

  it.each([
    ["constant", [], 30],
    ["exponential", [], 30],
    ["exponential", [30], 60],
    ["exponential", [30, 60], 120],
    ["exponential", [30, 60, 480], 600],
    ["fibonacci", [30], 30],
    ["fibonacci", [30, 30], 60],
    ["fibonacci", [30, 60, 90], 150],
  ])("waits by %s after %j: %d s", (DelayFunction, delays, seconds) => {
    const events = delays.map((d, i) => ({ RescheduleTime: i, Delay: d * S }));
    expect(nextDelayNs(policy({ DelayFunction }).ReschedulePolicy, events, 10)).toBe(seconds * S);
  });

  it("begins with the first delay again after a long good run", () => {
    const events = [{ RescheduleTime: 0, Delay: 240 * S }];
    expect(nextDelayNs(policy({}).ReschedulePolicy, events, 100 * S)).toBe(480 * S);
    expect(nextDelayNs(policy({}).ReschedulePolicy, events, 481 * S)).toBe(30 * S);
    expect(nextDelayNs(policy({ MaxDelay: 0 }).ReschedulePolicy, events, 100 * S)).toBe(480 * S);
  });
});

describe("stopping an allocation", () => {
  it("puts another one in its place", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    const [alloc] = h.live("web");
    const reply = await h.server.stopAlloc(alloc!.ID, { noShutdownDelay: true });
    await h.settle();
    expect(h.evals("web").find((e) => e.ID === reply.evalId)).toMatchObject({
      TriggeredBy: "alloc-stop",
      PlanAnnotations: { DesiredTGUpdates: { g: { Migrate: 1 } } },
    });
    expect(h.allocs("web").find((a) => a.ID === alloc!.ID)).toMatchObject({
      DesiredStatus: "stop",
      DesiredDescription: "alloc is being migrated",
      DesiredTransition: { NoShutdownDelay: true, Migrate: null },
    });
    expect(h.live("web")).toMatchObject([{ Name: "web.g[0]", PreviousAllocation: alloc!.ID }]);
    await expect(h.server.stopAlloc("none")).rejects.toThrow("alloc not found");
  });
});
