import { migrateToken } from "@outrider/allocdir-interface/migrate";
import { describe, expect, it } from "vitest";
import { jobBody, NODE_ID, ServerHarness, testNode } from "./harness.ts";

describe("where the disk of an allocation is", () => {
  it("is told once the allocation has ended, with the token of its node, to other nodes only", async () => {
    const h = await new ServerHarness().start(testNode({ HTTPAddr: "10.0.0.7:4646", SecretID: "node secret" }));
    const { signal } = new AbortController();
    await h.submit(jobBody("web"));
    const [alloc] = h.live("web");
    const allocId = alloc?.ID ?? "";
    const find = (nodeId: string, id = allocId): ReturnType<typeof h.server.link.findDisk> =>
      h.server.link.findDisk({ nodeId, allocId: id, signal });
    expect([await find(NODE_ID), await find("other", "none")]).toEqual([undefined, undefined]);
    let told: unknown = "not yet";
    const waiting = find("other").then((place) => (told = place));
    await h.settle();
    expect(told).toBe("not yet");
    await h.server.link.updateAllocs([{ ...alloc, ClientStatus: "complete" } as never], { signal });
    await waiting;
    expect(told).toEqual({ address: "http://10.0.0.7:4646", token: migrateToken(allocId, "node secret") });
    await h.server.link.register(testNode({ HTTPAddr: "10.0.0.7:4646", SecretID: "node secret", TLSEnabled: true }), {
      signal,
    });
    expect(await find("other")).toMatchObject({ address: "https://10.0.0.7:4646" });
    await h.server.link.register(testNode({ HTTPAddr: "", SecretID: "node secret" }), { signal });
    expect(await find("other")).toBeUndefined();
    await expect(
      h.server.link.findDisk({ nodeId: "other", allocId, signal: AbortSignal.abort(new Error("no")) }),
    ).rejects.toThrow("no");
    await h.server[Symbol.asyncDispose]();
  });
});
