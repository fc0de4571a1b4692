import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { variableKey } from "../../src/server/index.ts";
import type { ServiceEntry } from "../../src/alloc/services/service-registrar.ts";
import { HttpHarness } from "../http/harness.ts";
import { jobBody, NODE_ID, ServerHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h);
});
afterEach(() => api.close());

const put = (path: string, Items: unknown, query = ""): ReturnType<HttpHarness["call"]> =>
  api.call("PUT", `/v1/var/${path}${query}`, { body: { Items } as object });

describe("variables over HTTP", () => {
  it("are created, read, listed without their items, changed and deleted", async () => {
    const made = await put("nomad/jobs/web", { color: "red" });
    expect(made.status, made.text).toBe(200);
    expect(made.json).toMatchObject({
      Namespace: "default",
      Path: "nomad/jobs/web",
      Lock: null,
      Items: { color: "red" },
      CreateIndex: made.json.ModifyIndex,
    });
    expect(made.headers["x-nomad-index"]).toBe(String(made.json.ModifyIndex));
    expect((await api.get("/v1/var/nomad/jobs/web")).json).toEqual(made.json);
    const changed = await put("nomad/jobs/web", { color: "blue" });
    expect(changed.json).toMatchObject({ CreateIndex: made.json.CreateIndex, Items: { color: "blue" } });
    expect(changed.json.ModifyIndex).toBeGreaterThan(made.json.ModifyIndex);
    await put("other", { a: "b" });
    const { Items: _items, ...metadata } = changed.json;
    expect((await api.get("/v1/vars?prefix=nomad/")).json).toEqual([metadata]);
    expect((await api.get("/v1/vars")).json.map((v: { Path: string }) => v.Path)).toEqual(["nomad/jobs/web", "other"]);
    expect((await api.get("/v1/vars?namespace=mars")).json).toEqual([]);
    const gone = await api.call("DELETE", "/v1/var/nomad/jobs/web");
    expect([gone.status, gone.text]).toEqual([204, ""]);
    const missing = await api.get("/v1/var/nomad/jobs/web");
    expect([missing.status, missing.text]).toEqual([404, "variable not found"]);
  });

  it("are changed only at the index that is asked for", async () => {
    expect((await put("a", { k: "1" }, "?cas=7")).status).toBe(409);
    const made = await put("a", { k: "1" }, "?cas=0");
    expect(made.status).toBe(200);
    const conflict = await put("a", { k: "2" }, "?cas=0");
    expect([conflict.status, conflict.json]).toEqual([409, made.json]);
    expect((await put("a", { k: "2" }, `?cas=${made.json.ModifyIndex}`)).status).toBe(200);
    expect((await api.call("DELETE", `/v1/var/a?cas=${made.json.ModifyIndex}`)).status).toBe(409);
    expect((await api.call("DELETE", "/v1/var/a?cas=99")).json.Items).toEqual({ k: "2" });
    expect((await api.call("DELETE", "/v1/var/none?cas=1")).json).toMatchObject({
      Path: "none",
      ModifyIndex: 0,
      Items: null,
    });
  });

  it.each<[string, unknown, RegExp]>([
    ["a", undefined, /missing required Items/],
    ["a", {}, /missing required Items/],
    ["a", [], /must be a JSON object/],
    ["a", { k: 1 }, /Items\["k"\] must be text/],
    ["a", { k: "x".repeat(65_536) }, /limited to 64KiB in total size, this one has 65537 bytes/],
    ["a%20b", { k: "1" }, /invalid path "a b"/],
    ["a".repeat(129), { k: "1" }, /invalid path/],
    ["nomad/other", { k: "1" }, /only paths at "nomad\/jobs"/],
    ["a?cas=x", { k: "1" }, /cas/],
    ["a?cas=-1", { k: "1" }, /cas must not be negative/],
    ["a?lock-acquire", { k: "1" }, /lock-acquire is not supported/],
    ["a?namespace=*", { k: "1" }, /one namespace/],
  ])("refuse a bad one: %s", async (path, items, message) => {
    const answer = await put(path, items);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(message);
    expect((await api.get("/v1/vars?namespace=*")).json).toEqual([]);
  });

  it("take the largest one, and refuse a body that says something else than its path", async () => {
    expect((await put("a", { k: "\u0001".repeat(65_535) })).status).toBe(200);
    for (const more of [{ Path: "b" }, { Lock: {} }])
      expect((await api.call("PUT", "/v1/var/a", { body: { Items: { k: "1" }, ...more } })).status).toBe(400);
    expect(
      (await api.call("PUT", "/v1/var/a?namespace=x", { body: { Items: { k: "1" }, Namespace: "y" } })).status,
    ).toBe(400);
    expect(
      (await api.call("PUT", "/v1/var/a", { body: { Items: { k: "1" }, Namespace: "y", Path: "a" } })).json.Namespace,
    ).toBe("y");
    expect((await api.call("PUT", "/v1/var/", { body: { Items: { k: "1" } } })).status).toBe(404);
  });

  it("are there after a restart, and told to whoever follows them", async () => {
    let changes = 0;
    const following = h.server.variables.onChange(() => changes++);
    await put("a", { __proto__x: "1", k: "2" });
    await h.settle();
    expect([changes, h.server.variables.get("default", "a")]).toEqual([1, { __proto__x: "1", k: "2" }]);
    following[Symbol.dispose]();
    await put("b", { k: "1" });
    await h.settle();
    expect([changes, h.server.state.feed.waiting]).toEqual([1, 0]);
    expect(h.server.variables.get("default", "none")).toBeUndefined();
    expect(h.store.get(`t/variables/${variableKey("default", "a")}`)).toMatchObject({ Path: "a" });
  });
});

describe("services over HTTP", () => {
  const entry = (o: Partial<ServiceEntry> = {}): ServiceEntry => ({
    ID: "s1",
    ServiceName: "web",
    Namespace: "default",
    NodeID: NODE_ID,
    Datacenter: "dc1",
    JobID: "web",
    AllocID: "",
    Tags: ["v1"],
    Address: "127.0.0.1",
    Port: 8080,
    ...o,
  });
  const place = async (): Promise<string> => {
    await api.call("PUT", "/v1/jobs", { body: { Job: jobBody("web") } });
    await h.settle();
    return [...h.server.state.tables.allocs.values()][0]?.ID as string;
  };

  it("are listed by name with their tags, and one by one", async () => {
    const AllocID = await place();
    await h.server.services.register([
      entry({ AllocID }),
      entry({ AllocID, ID: "s2", Tags: ["v2", "v1"] }),
      entry({ AllocID: "unknown", ID: "s3" }),
    ]);
    expect((await api.get("/v1/services")).json).toEqual([
      { Namespace: "default", Services: [{ ServiceName: "web", Tags: ["v1", "v2"] }] },
    ]);
    expect((await api.get("/v1/services?prefix=x")).json).toEqual([]);
    const rows = await api.get("/v1/service/web?namespace=default");
    const index = Number(rows.headers["x-nomad-index"]);
    expect(rows.json[0]).toEqual({ ...entry({ AllocID }), CreateIndex: index, ModifyIndex: index });
    expect(Object.keys(rows.json[0])).toEqual([
      "ID",
      "ServiceName",
      "Namespace",
      "NodeID",
      "Datacenter",
      "JobID",
      "AllocID",
      "Tags",
      "Address",
      "Port",
      "CreateIndex",
      "ModifyIndex",
    ]);
    expect((await api.get("/v1/service/none")).json).toEqual([]);
    expect((await api.get("/v1/service/web?choose=1|a")).status).toBe(400);
    // The same again changes nothing; another port does.
    await h.server.services.register([entry({ AllocID })]);
    expect(h.server.state.tables.services.index).toBe(index);
    await h.server.services.register([entry({ AllocID, Port: 9 })]);
    expect((await api.get("/v1/service/web")).json[0]).toMatchObject({ Port: 9, CreateIndex: index });
  });

  it("are deleted by hand and by their node", async () => {
    const AllocID = await place();
    await h.server.services.register([entry({ AllocID }), entry({ AllocID, ID: "s2" })]);
    expect((await api.call("DELETE", "/v1/service/other/s1")).status).toBe(404);
    const gone = await api.call("DELETE", "/v1/service/web/s1");
    expect([gone.status, gone.text, Number(gone.headers["x-nomad-index"]) > 0]).toEqual([200, "", true]);
    expect((await api.call("DELETE", "/v1/service/web/s1")).text).toBe("service registration not found");
    await h.server.services.deregister(["s2", "unknown"]);
    expect((await api.get("/v1/services")).json).toEqual([]);
  });

  it("go with their allocation, whatever its node says", async () => {
    const AllocID = await place();
    await h.server.services.register([entry({ AllocID })]);
    const alloc = h.server.state.tables.allocs.get(AllocID);
    await h.server.link.updateAllocs(
      [
        {
          ID: AllocID,
          NodeID: NODE_ID,
          TaskStates: {},
          ClientStatus: "complete",
          ClientDescription: "",
          DeploymentStatus: null,
          NetworkStatus: alloc?.NetworkStatus ?? null,
        },
      ],
      { signal: new AbortController().signal },
    );
    expect(h.server.state.tables.services.size).toBe(0);
    await h.server.services.register([entry({ AllocID })]);
    expect(h.server.state.tables.services.size).toBe(0);
  });
});
