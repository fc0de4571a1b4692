import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Allocation } from "@outrider/nomad-structs";
import { EVENT_BUFFER, type EventBatch } from "../../src/server/change-feed.ts";
import { jobBody, ServerHarness } from "./harness.ts";

let h: ServerHarness;
beforeEach(async () => void (h = await new ServerHarness().start()));
afterEach(() => h.server[Symbol.asyncDispose]());

/** The allocation's life as `server_view` of the recorded runs tells it. */
function view(batches: readonly EventBatch[]): string[] {
  return batches.flatMap(({ events }) =>
    events
      .filter((event) => event.Topic === "Allocation")
      .map((event) => {
        const alloc = event.Payload["Allocation"] as Allocation;
        const health = alloc.DeploymentStatus?.Healthy;
        return `${event.Type} ${alloc.ClientStatus} ${alloc.DesiredStatus}${health === undefined || health === null ? "" : ` healthy=${health}`}`;
      }),
  );
}

describe("events", () => {
  it("tell a service's life as recorded: placed, running, stopped by the user, complete", async () => {
    const batches: EventBatch[] = [];
    using _ = h.server.state.feed.subscribe(h.server.state.index + 1, (batch) => batches.push(batch));
    await h.submit(jobBody("web"));
    const [alloc] = h.allocs("web");
    await h.report(alloc!, "running");
    await h.server.deregister("default", "web");
    await h.settle();
    await h.report(h.allocs("web")[0]!, "complete", h.health(false));
    expect(view(batches)).toEqual([
      "PlanResult pending run",
      "AllocationUpdated running run",
      "PlanResult running stop",
      "AllocationUpdated complete stop healthy=false",
    ]);
    const indexes = batches.map((batch) => batch.index);
    expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
    for (const batch of batches) for (const event of batch.events) expect(event.Index).toBeLessThanOrEqual(batch.index);
  });

  it("tell a destructive update as recorded: the old one is asked to stop, the new one placed", async () => {
    await h.submit(jobBody("web"));
    await h.obey("web");
    const batches: EventBatch[] = [];
    using _ = h.server.state.feed.subscribe(h.server.state.index + 1, (batch) => batches.push(batch));
    await h.submit(jobBody("web", {}, {}, { Env: { A: "2" } }));
    expect(view(batches)).toEqual(["PlanResult running stop healthy=true", "PlanResult pending run"]);
  });

  it("can be read back as far as they are remembered", async () => {
    for (let i = 0; i < EVENT_BUFFER + 10; i++)
      await h.server.setEligibility(
        h.server.state.tables.nodes.values().next().value!.ID,
        i % 2 === 0 ? "ineligible" : "eligible",
      );
    const seen: number[] = [];
    using subscription = h.server.state.feed.subscribe(1, (batch) => seen.push(batch.index));
    expect(seen).toHaveLength(EVENT_BUFFER);
    subscription[Symbol.dispose]();
    await h.submit(jobBody("web"));
    expect(seen).toHaveLength(EVENT_BUFFER);
  });

  it("wake nobody who has gone", async () => {
    const gone = new AbortController();
    const waiting = h.server.state.feed.next(["jobs"], gone.signal);
    gone.abort();
    expect(await waiting).toBe(false);
    expect(await h.server.state.feed.next(["jobs"], gone.signal)).toBe(false);
    expect(h.server.state.feed.waiting).toBe(0);
  });
});
