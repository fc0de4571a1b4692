import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobBody, NODE_ID, ServerHarness } from "../server/harness.ts";
import { HttpHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h);
});
afterEach(() => api.close());

const submit = (
  id: string,
  ...more: [object?, object?, object?]
): Promise<{ status: number; text: string; json: any }> =>
  api.call("PUT", "/v1/jobs", { body: { Job: jobBody(id, ...(more as [])) } });

describe("jobs over HTTP", () => {
  it("takes a job with its source, and gives it back", async () => {
    const body = {
      Job: jobBody("web"),
      Submission: { Source: "job {}", Format: "hcl2", VariableFlags: { a: "1" }, Variables: "" },
    };
    const answer = await api.call("POST", "/v1/jobs", {
      body,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toEqual({
      EvalID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      EvalCreateIndex: 3,
      JobModifyIndex: 3,
      Warnings: "",
      Index: 3,
      LastContact: 0,
      KnownLeader: false,
      NextToken: "",
    });
    expect(answer.headers["x-nomad-index"]).toBe("3");
    await h.settle();
    expect((await api.get("/v1/job/web/submission?version=0")).json).toMatchObject({
      Source: "job {}",
      Format: "hcl2",
      VariableFlags: { a: "1" },
      JobID: "web",
      Version: 0,
    });
    expect((await api.get("/v1/job/web/submission?version=4")).status).toBe(404);
    expect((await api.get("/v1/job/web")).json).toMatchObject({ ID: "web", Namespace: "default", Version: 0 });
    expect((await api.get("/v1/job/web/versions")).json.Versions).toHaveLength(1);
    expect((await api.get("/v1/job/web/summary")).json.Summary.g.Starting).toBe(1);
    expect((await api.get("/v1/job/web/evaluations")).json).toHaveLength(1);
    expect((await api.get("/v1/job/web/deployments")).json).toHaveLength(1);
    expect((await api.get("/v1/job/web/deployment")).json.JobID).toBe("web");
    expect((await api.get("/v1/job/none/deployment")).json).toBeNull();
    expect((await api.get("/v1/job/web/scale")).json.TaskGroups.g).toEqual({
      Desired: 1,
      Placed: 1,
      Running: 0,
      Healthy: 0,
      Unhealthy: 0,
      Events: null,
    });
    expect((await api.get("/v1/job/none/scale")).status).toBe(404);
    expect((await api.get("/v1/job/web/versions?diffs=true")).status).toBe(501);
    expect((await api.call("PUT", "/v1/job/web/plan", { body: {} })).status).toBe(501);
  });

  it("lists with prefix, pages, filter and namespace", async () => {
    for (const id of ["web-a", "web-b", "web-c", "other"])
      await submit(id, { Type: id === "other" ? "batch" : "service", Meta: { a: "1" } });
    await h.settle();
    expect((await api.get("/v1/jobs")).json.map((j: any) => j.ID)).toEqual(["other", "web-a", "web-b", "web-c"]);
    expect((await api.get("/v1/jobs?prefix=web-")).json).toHaveLength(3);
    const page = await api.get("/v1/jobs?prefix=web-&per_page=2");
    expect([page.json.map((j: any) => j.ID), page.headers["x-nomad-nexttoken"]]).toEqual([["web-a", "web-b"], "web-c"]);
    expect((await api.get("/v1/jobs?per_page=2&next_token=web-c")).json.map((j: any) => j.ID)).toEqual(["web-c"]);
    expect((await api.get("/v1/jobs?reverse=true&per_page=1")).json[0].ID).toBe("web-c");
    expect(
      (await api.get(`/v1/jobs?filter=${encodeURIComponent('Type == "batch" and ParentID == ""')}`)).json.map(
        (j: any) => j.ID,
      ),
    ).toEqual(["other"]);
    expect((await api.get("/v1/jobs?namespace=mars")).json).toEqual([]);
    expect((await api.get("/v1/jobs?namespace=*")).json).toHaveLength(4);
    expect((await api.get("/v1/jobs")).json[0].Meta).toBeNull();
    expect((await api.get("/v1/jobs?meta=true")).json[0].Meta).toEqual({ a: "1" });
    const allocs = (await api.get("/v1/allocations?per_page=1")).headers["x-nomad-nexttoken"]!;
    expect(allocs).toMatch(/^\d+\.[0-9a-f-]{36}$/);
    expect((await api.get(`/v1/allocations?next_token=${allocs}`)).json).toHaveLength(3);
    expect((await api.get("/v1/jobs?per_page=-1")).status).toBe(400);
    expect((await api.get("/v1/jobs?per_page=x")).status).toBe(400);
    expect((await api.get("/v1/allocations?next_token=99999999999999999999.x")).status).toBe(400);
  });

  it("validates without storing", async () => {
    const good = await api.call("PUT", "/v1/validate/job", { body: { Job: jobBody("web") } });
    expect(good.json).toEqual({ DriverConfigValidated: true, ValidationErrors: null, Error: "", Warnings: "" });
    const bad = await api.call("PUT", "/v1/validate/job", {
      body: { Job: jobBody("web", {}, {}, { Driver: "docker" }) },
    });
    expect(bad.json.ValidationErrors).toHaveLength(1);
    expect(bad.json.Error).toMatch(/^1 error occurred:\n\t\* /);
    expect((await api.get("/v1/jobs")).json).toEqual([]);
  });

  it("stops, evaluates, reverts, scales, dispatches and forces", async () => {
    await submit("web");
    await h.settle();
    await h.obey("web");
    expect(
      (await api.call("PUT", "/v1/job/web/evaluate", { body: { EvalOptions: { ForceReschedule: true } } })).json.EvalID,
    ).not.toBe("");
    expect((await api.call("PUT", "/v1/job/web/scale", { body: { Count: 2, Target: { Group: "g" } } })).status).toBe(
      200,
    );
    await h.settle();
    expect((await api.call("PUT", "/v1/job/web/revert", { body: { JobVersion: 0 } })).status).toBe(200);
    expect((await api.call("PUT", "/v1/job/web/revert", { body: {} })).status).toBe(400);
    expect((await api.call("PUT", "/v1/job/web", { body: { Job: jobBody("web") } })).status).toBe(200);
    expect((await api.call("PUT", "/v1/job/web", { body: { Job: jobBody("other") } })).text).toBe(
      "Job ID does not match name",
    );
    const stopped = await api.call(
      "DELETE",
      "/v1/job/web?purge=false&global=false&eval_priority=0&no_shutdown_delay=true",
    );
    expect(stopped.json).toMatchObject({ VolumeEvalID: "", VolumeEvalIndex: 0, EvalID: expect.any(String) });
    expect((await api.call("DELETE", "/v1/job/web?purge=maybe")).status).toBe(400);
    await submit("resize", { Type: "batch", ParameterizedJob: { Payload: "optional", MetaRequired: ["size"] } });
    const dispatched = await api.call("PUT", "/v1/job/resize/dispatch", {
      body: { Payload: "aGk=", Meta: { size: "1" } },
    });
    expect(dispatched.json.DispatchedJobID).toMatch(/^resize\/dispatch-/);
    await h.settle();
    // Ids with slashes are reached escaped and plain.
    expect(
      (await api.get(`/v1/job/${encodeURIComponent(dispatched.json.DispatchedJobID)}/allocations`)).json,
    ).toHaveLength(1);
    expect((await api.get(`/v1/job/${dispatched.json.DispatchedJobID}`)).json.ParentID).toBe("resize");
    expect((await api.call("PUT", "/v1/job/resize/dispatch", { body: { Meta: { size: 1 } } })).status).toBe(400);
    expect((await api.call("PUT", "/v1/job/resize/dispatch", { body: { Payload: "§" } })).status).toBe(400);
    expect((await api.call("PUT", "/v1/job/resize/dispatch")).status).toBe(500);
    await submit("nightly", { Type: "batch", Periodic: { Enabled: true, Spec: "0 3 * * *", SpecType: "cron" } });
    expect((await api.call("PUT", "/v1/job/nightly/periodic/force")).json.EvalID).not.toBe("");
    expect((await api.call("GET", "/v1/job/nightly/evaluate")).status).toBe(405);
    expect((await api.get("/v1/job/")).status).toBe(404);
  });

  it("parses job files", async () => {
    expect((await api.call("POST", "/v1/jobs/parse", { body: { JobHCL: "web" } })).json).toEqual({ ID: "web" });
    expect(await api.call("POST", "/v1/jobs/parse", { body: { JobHCL: "bad" } })).toMatchObject({
      status: 400,
      text: "Failed to parse job: input.hcl:1,1-2: it is bad",
    });
    expect((await api.call("POST", "/v1/jobs/parse", { body: {} })).status).toBe(400);
    (api.context as { parseHcl?: unknown }).parseHcl = undefined;
    expect((await api.call("POST", "/v1/jobs/parse", { body: { JobHCL: "web" } })).status).toBe(501);
  });
});

describe("allocations, evaluations, deployments and nodes over HTTP", () => {
  beforeEach(async () => {
    await submit("web");
    await h.settle();
    await h.obey("web");
  });

  it("shows what the stock CLI needs of an allocation", async () => {
    const { ID } = h.live("web")[0]!;
    const { json } = await api.get(`/v1/allocation/${ID}`);
    expect(json).toMatchObject({
      ID,
      Job: { ID: "web", Version: 0, TaskGroups: [{ Name: "g" }] },
      TaskGroup: "g",
      Resources: { CPU: 100, MemoryMB: 100, DiskMB: 300 },
      TaskResources: { t: { CPU: 100, MemoryMB: 100 } },
    });
    expect((await api.get(`/v1/allocation/${ID.toUpperCase()}`)).json.ID).toBe(ID);
    const stop = await api.call("PUT", `/v1/allocation/${ID}/stop`);
    expect(stop.json).toEqual({ EvalID: expect.any(String), Index: expect.any(Number) });
    await h.settle();
    expect((await api.get(`/v1/evaluation/${stop.json.EvalID}?related=true`)).json).toMatchObject({
      TriggeredBy: "alloc-stop",
      Status: "complete",
    });
    expect((await api.get(`/v1/evaluation/${stop.json.EvalID}/allocations`)).json).toHaveLength(1);
    expect((await api.get("/v1/allocations?resources=true&task_states=false")).json[0]).toMatchObject({
      AllocatedResources: { Tasks: {} },
      TaskStates: null,
    });
  });

  it("shows relatives of a blocked evaluation", async () => {
    await submit("big", {}, {}, { Resources: { CPU: 10, MemoryMB: 90_000 } });
    await h.settle();
    const first = h.evals("big").find((e) => e.TriggeredBy === "job-register")!;
    const { json } = await api.get(`/v1/evaluation/${first.ID}?related=true`);
    expect(json.RelatedEvals).toMatchObject([{ ID: first.BlockedEval, Status: "blocked" }]);
    expect(
      (await api.get(`/v1/evaluations?job=big&status=blocked&prefix=${first.BlockedEval.slice(0, 8)}`)).json,
    ).toHaveLength(1);
  });

  it("shows deployments and fails one on demand", async () => {
    const { ID } = h.deployments("web")[0]!;
    expect((await api.get(`/v1/deployment/${ID}`)).json.Status).toBe("successful");
    expect((await api.get("/v1/deployments")).json).toHaveLength(1);
    expect((await api.get(`/v1/deployment/allocations/${ID}`)).json).toHaveLength(1);
    expect((await api.call("PUT", `/v1/deployment/fail/${ID}`)).text).toBe("can't fail terminal deployment");
    await submit("web", {}, {}, { Env: { A: "1" } });
    await h.settle();
    const failed = await api.call("PUT", `/v1/deployment/fail/${h.deployments("web")[1]!.ID}`);
    expect(failed.status).toBe(200);
    expect(h.deployments("web")[1]).toMatchObject({
      Status: "failed",
      StatusDescription: "Deployment marked as failed",
    });
    expect((await api.call("PUT", "/v1/deployment/fail/00000000-0000-0000-0000-000000000000")).status).toBe(404);
  });

  it("shows nodes without their secret", async () => {
    const { json, text } = await api.get(`/v1/node/${NODE_ID}`);
    expect(json).toMatchObject({ ID: NODE_ID, SecretID: "", Status: "ready", Drain: false });
    expect(text).not.toContain("22222222-2222");
    expect((await api.get("/v1/nodes?resources=true&os=true")).json[0]).toMatchObject({
      NodeResources: { Cpu: { CpuShares: 1000 } },
      Attributes: { "os.name": "" },
    });
    expect((await api.get("/v1/nodes?prefix=zz")).json).toEqual([]);
    expect((await api.get(`/v1/node/${NODE_ID}/allocations`)).json[0].Job.ID).toBe("web");
    expect(
      (
        await api.call("PUT", `/v1/node/${NODE_ID}/eligibility`, {
          body: { NodeID: NODE_ID, Eligibility: "ineligible" },
        })
      ).json,
    ).toMatchObject({ EvalIDs: null });
    expect((await api.get(`/v1/node/${NODE_ID}`)).json.SchedulingEligibility).toBe("ineligible");
  });

  it("says 404 and 500 as Nomad does for ids that are unknown or none", async () => {
    const none = "00000000-0000-0000-0000-000000000000";
    for (const [path, text] of [
      [`/v1/allocation/${none}`, "alloc not found"],
      [`/v1/evaluation/${none}`, "eval not found"],
      [`/v1/deployment/${none}`, "deployment not found"],
      [`/v1/node/${none}`, "node not found"],
      ["/v1/job/none", "job not found"],
      ["/v1/job/none/summary", "job not found"],
    ]) {
      const answer = await api.get(path!);
      expect([answer.status, answer.text]).toEqual([404, text]);
      expect(answer.headers["x-nomad-index"]).toMatch(/^[1-9]/);
      expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8");
    }
    expect(await api.get("/v1/allocation/xyz")).toMatchObject({
      status: 500,
      text: "alloc lookup failed: index error: UUID must be 36 characters",
    });
    expect((await api.get("/v1/allocation/zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz")).status).toBe(500);
  });

  it("finds ids by prefix", async () => {
    const { json } = await api.call("PUT", "/v1/search", { body: { Prefix: "we", Context: "all" } });
    expect(json.Matches).toMatchObject({ jobs: ["web"], nodes: null });
    expect((await api.call("PUT", "/v1/search", { body: { Prefix: "1111", Context: "nodes" } })).json.Matches).toEqual({
      nodes: [NODE_ID],
    });
    expect((await api.call("PUT", "/v1/search", { body: { Prefix: "", Context: "vars" } })).status).toBe(400);
  });
});

describe("the node's own calls over HTTP", () => {
  let id: string;
  beforeEach(async () => {
    await submit("web");
    await h.settle();
    await h.obey("web");
    id = h.live("web")[0]!.ID;
    await api.allocDir(id, "t", {
      "t.stdout.0": "one\ntwo\n",
      "t.stdout.1": "three\n",
      "t.stderr.0": "<!DOCTYPE html><script>",
    });
  });

  it("restarts, signals and pauses with PUT and POST only", async () => {
    const path = `/v1/client/allocation/${id}`;
    expect((await api.call("PUT", `${path}/restart`, { body: { TaskName: "t", AllTasks: false } })).json).toEqual({
      Index: 0,
    });
    expect((await api.call("POST", `${path}/restart`)).json).toEqual({ Index: 0 });
    expect(await api.get(`${path}/restart`)).toMatchObject({ status: 405, text: "Invalid method" });
    expect(await api.call("PUT", `${path}/restart`, { body: { TaskName: "nope" } })).toMatchObject({
      status: 500,
      text: "Could not find task runner for task: nope",
    });
    expect(await api.call("PUT", `${path}/restart`, { body: { TaskName: "t", AllTasks: true } })).toMatchObject({
      status: 500,
      text: "task name cannot be set when restarting all tasks",
    });
    expect((await api.call("PUT", `${path}/restart`, { body: { TaskName: 5 } })).status).toBe(400);
    expect((await api.call("PUT", `${path}/restart`, { body: { AllTasks: "yes" } })).status).toBe(400);
    expect((await api.call("PUT", `${path}/signal`, { body: { Task: "", Signal: "SIGHUP" } })).json).toEqual({
      Index: 0,
    });
    expect(await api.call("PUT", `${path}/signal`, { body: { Task: "nope", Signal: "SIGHUP" } })).toMatchObject({
      status: 500,
      text: "Task not found",
    });
    expect((await api.call("PUT", `${path}/pause`, { body: { Task: "t", ScheduleState: "pause" } })).json).toEqual({
      Index: 0,
    });
    expect((await api.get(`${path}/pause?task=t`)).json).toEqual({ ScheduleState: "force_pause" });
    expect((await api.call("POST", `${path}/pause`, { body: { Task: "t", ScheduleState: "scheduled" } })).status).toBe(
      200,
    );
    expect((await api.get(`${path}/pause?task=t`)).json).toEqual({ ScheduleState: "" });
    expect(await api.call("PUT", `${path}/pause`)).toMatchObject({
      status: 400,
      text: "Not a valid task schedule state",
    });
    expect(await api.call("PUT", `${path}/pause`, { body: { Task: "t", ScheduleState: "zzz" } })).toMatchObject({
      status: 400,
      text: "Not a valid task schedule state",
    });
    expect(await api.call("DELETE", `${path}/pause`)).toMatchObject({ status: 405, text: "Invalid method" });
    expect(await api.get(`${path}/zzz`)).toMatchObject({ status: 404, text: "resource not found" });
    expect((await api.get(`${path}/exec`)).status).toBe(400);
    expect((await api.call("PUT", `${path}/gc`)).status).toBe(200);
    expect((await api.get(`${path}/gc`)).status).toBe(405);
    expect(api.calls).toEqual([
      "restart t false",
      "restart  false",
      "signal  SIGHUP",
      "pause t force_pause",
      "pause t schedule_resume",
      `gc ${id}`,
    ]);
    const none = "00000000-0000-0000-0000-000000000000";
    expect(await api.get(`/v1/client/allocation/${none}/stats`)).toMatchObject({
      status: 404,
      text: `Unknown allocation "${none}"`,
    });
    expect(await api.call("PUT", `/v1/client/allocation/${none}/gc`)).toMatchObject({
      status: 500,
      text: "No such allocation on client, or allocation not eligible for GC",
    });
    expect((await api.get("/v1/client/allocation/f48be1a0/pause?task=talk")).status).toBe(500);
  });

  it("shows usage and the machine", async () => {
    expect((await api.get(`/v1/client/allocation/${id}/stats`)).json.Tasks.t.ResourceUsage.MemoryStats.RSS).toBe(4096);
    expect((await api.get(`/v1/client/allocation/${id}/checks`)).json).toEqual({});
    expect((await api.get("/v1/client/stats")).json.Memory.Total).toBe(100);
    expect((await api.call("PUT", "/v1/client/gc")).status).toBe(200);
    api.nodeUp = false;
    expect((await api.get("/v1/client/stats")).status).toBe(404);
  });

  it("reads files with the right status for every failure", async () => {
    const fs = (sub: string, query: string): ReturnType<typeof api.get> =>
      api.get(`/v1/client/fs/${sub}/${id}?${query}`);
    expect((await fs("ls", "")).json.map((f: any) => f.Name)).toEqual(["alloc", "t"]);
    expect((await fs("stat", "path=alloc/logs/t.stdout.0")).json).toMatchObject({
      Name: "t.stdout.0",
      Size: 8,
      IsDir: false,
    });
    const cat = await fs("cat", "path=alloc/logs/t.stdout.0");
    expect([
      cat.text,
      cat.headers["content-type"],
      cat.headers["x-content-type-options"],
      cat.headers["content-security-policy"],
    ]).toEqual([
      "one\ntwo\n",
      "text/plain; charset=utf-8",
      "nosniff",
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    ]);
    expect((await fs("cat", "path=alloc/logs/t.stderr.0")).headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect((await fs("readat", "path=alloc/logs/t.stdout.0&offset=4&limit=2")).text).toBe("tw");
    for (const [sub, query, status, text] of [
      ["cat", "path=alloc/nope", 404, /no such file or directory/],
      ["cat", "", 400, /must provide a file name/],
      ["cat", "path=alloc", 400, /file "alloc" is a directory/],
      ["readat", "path=alloc/logs/t.stdout.0", 400, /error parsing offset/],
      ["readat", "path=alloc/logs/t.stdout.0&offset=-1", 400, /can't seek/],
      ["stat", "path=../../x", 500, /Path escapes the alloc directory/],
      ["ls", "path=alloc/logs/t.stdout.0", 500, /not a directory/],
      ["stat", "path=alloc/nope", 404, /no such file or directory/],
      ["stream", "path=alloc/nope", 404, /no such file/],
      ["stream", "path=alloc/logs/t.stdout.0&origin=mid", 400, /origin must be start or end/],
      ["stream", "path=alloc/logs/t.stdout.0&offset=-1", 400, /can't seek/],
      ["logs", "type=stdout", 400, /must provide task name/],
      ["logs", "task=t&type=x", 400, /must provide log type \(stdout\/stderr\)/],
      ["logs", "task=t&type=stdout&origin=mid", 400, /origin must be start or end/],
      ["logs", "task=nope&type=stdout", 400, /unknown task name "nope"/],
      ["zzz", "", 404, /Invalid method/],
    ] as const) {
      const answer = await fs(sub, query);
      expect([sub, query, answer.status], answer.text).toEqual([sub, query, status]);
      expect(answer.text).toMatch(text);
      expect(answer.text).not.toContain(api.root);
    }
    const other = "00000000-0000-0000-0000-000000000000";
    expect((await api.get(`/v1/client/fs/cat/${other}?path=x`)).status).toBe(404);
  });

  it("reads logs as frames with exact offsets, or plain, over rotated files", async () => {
    const logs = (query: string): ReturnType<typeof api.get> =>
      api.get(`/v1/client/fs/logs/${id}?task=t&type=stdout&${query}`);
    const frames = (text: string): any[] =>
      text
        .replaceAll("}{", "}\n{")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const all = await logs("follow=false");
    expect(all.headers["content-type"]).toBe("application/json");
    expect(frames(all.text).map((f) => [f.File, f.Offset, Buffer.from(f.Data, "base64").toString()])).toEqual([
      ["alloc/logs/t.stdout.0", 8, "one\ntwo\n"],
      ["alloc/logs/t.stdout.1", 6, "three\n"],
    ]);
    const plain = await logs("plain=true");
    expect([plain.text, plain.headers["content-type"]]).toEqual(["one\ntwo\nthree\n", "text/plain"]);
    expect((await logs("plain=true&origin=end&offset=3")).text).toBe("ee\n");
    expect((await logs("plain=true&origin=end&offset=0")).text).toBe("");
    const stream = await api.get(`/v1/client/fs/stream/${id}?path=alloc/logs/t.stdout.0&follow=false&offset=4`);
    expect([stream.headers["content-type"], frames(stream.text)[0].Offset]).toEqual(["text/plain; charset=utf-8", 8]);
  });
});

describe("the agent about itself", () => {
  it("says who it is, how it is and whom it knows", async () => {
    const self = (await api.get("/v1/agent/self")).json;
    expect(self).toMatchObject({
      config: { Region: "global", Version: { Version: "2.0.5" } },
      member: { Name: "node1.global", Status: "alive" },
      stats: { client: { node_id: NODE_ID, num_allocations: "1" }, nomad: { leader: "true" } },
    });
    expect((await api.get("/v1/agent/health")).json).toEqual({
      client: { ok: true, message: "ok" },
      server: { ok: true, message: "ok" },
    });
    expect((await api.get("/v1/agent/health?type=client")).json).toEqual({ client: { ok: true, message: "ok" } });
    const { Members } = (await api.get("/v1/agent/members")).json;
    const leader = (await api.get("/v1/status/leader")).json;
    expect(leader).toBe(`${Members[0].Tags.rpc_addr}:${Members[0].Tags.port}`);
    expect((await api.get("/v1/status/peers")).json).toEqual([leader]);
    expect((await api.get("/v1/agent/servers")).json).toEqual([leader]);
    expect((await api.get("/v1/regions")).json).toEqual(["global"]);
    expect((await api.get("/v1/namespaces")).json[0].Name).toBe("default");
    expect((await api.get("/v1/namespace/default")).json.Name).toBe("default");
    expect((await api.get("/v1/namespace/x")).status).toBe(404);
    expect((await api.get("/v1/client/metadata")).json).toEqual({
      Meta: { rack: "r1" },
      Dynamic: null,
      Static: { rack: "r1" },
    });
    expect((await api.call("PUT", "/v1/system/gc")).status).toBe(200);
    expect((await api.call("PUT", "/v1/system/reconcile/summaries")).status).toBe(200);
    api.nodeUp = false;
    expect((await api.get("/v1/agent/health")).status).toBe(500);
    expect((await api.get("/v1/agent/self")).json.stats.client).toBeUndefined();
  });

  it("gives metrics as JSON and as Prometheus text", async () => {
    api.metrics.incrCounter("nomad.client.alloc_hook.prerun.success", 1, { hook_name: "x" });
    expect((await api.get("/v1/metrics")).json.Counters[0].Name).toBe("nomad.client.alloc_hook.prerun.success");
    const text = await api.get("/v1/metrics?format=prometheus");
    expect(text.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text.text).toContain('nomad_client_alloc_hook_prerun_success{hook_name="x",host="node1"} 1');
    (api.context as { prometheus: boolean }).prometheus = false;
    expect(await api.get("/v1/metrics?format=prometheus")).toMatchObject({
      status: 415,
      text: "Prometheus is not enabled",
    });
    expect((await api.get("/v1/metrics?format=other")).status).toBe(200);
  });
});

describe("answers in general", () => {
  it("refuses unknown paths, methods, regions, indexes and waits as Nomad does", async () => {
    expect(await api.get("/v1/nonexistent")).toMatchObject({ status: 404, text: "" });
    expect((await api.get("/v1/nonexistent")).headers["content-type"]).toBeUndefined();
    for (const method of ["POST", "DELETE", "PATCH", "OPTIONS", "HEAD"])
      expect((await api.call(method, "/v1/nodes")).status).toBe(405);
    expect(await api.call("POST", "/v1/nodes")).toMatchObject({ text: "Invalid method" });
    expect(await api.get("/v1/jobs?region=mars")).toMatchObject({ status: 500, text: "No path to region" });
    expect(await api.get("/v1/allocations?index=x")).toMatchObject({ status: 400, text: "Invalid index" });
    expect((await api.get("/v1/allocations?index=99999999999999999999")).status).toBe(400);
    expect(await api.get("/v1/allocations?index=1&wait=soon")).toMatchObject({
      status: 400,
      text: "Invalid wait time",
    });
    expect((await api.get(`/v1/jobs?prefix=${"x".repeat(5000)}`)).status).toBe(400);
    expect((await api.get("/v1/jobs?filter=Nope+%3D%3D")).status).toBe(400);
  });

  it("gives no other site any right, also not by CORS", async () => {
    const answer = await api.call("OPTIONS", "/v1/jobs", {
      headers: { origin: "http://evil.example", "access-control-request-method": "PUT" },
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    const form = await api.call("POST", "/v1/jobs", {
      body: JSON.stringify({ Job: jobBody("evil") }),
      headers: { "content-type": "text/plain", origin: "http://evil.example" },
    });
    expect(form.status).toBe(403);
    expect((await api.get("/v1/jobs", { host: "rebound.example" })).status).toBe(403);
    expect(h.job("evil")).toBeUndefined();
  });

  it("packs long JSON when asked to, indents it when asked to, and never sniffs", async () => {
    for (let i = 0; i < 4; i++) await submit(`job-${i}`);
    const plain = await api.get("/v1/jobs");
    expect([plain.headers["content-encoding"], plain.headers["vary"], plain.headers["x-content-type-options"]]).toEqual(
      [undefined, "Accept-Encoding", "nosniff"],
    );
    const raw = await api.http.app.inject({
      url: "/v1/jobs",
      headers: { host: "localhost", "accept-encoding": "br, gzip;q=0.5" },
    });
    expect(raw.headers["content-encoding"]).toBe("gzip");
    expect(JSON.parse(gunzipSync(raw.rawPayload).toString())).toEqual(plain.json);
    const refused = await api.http.app.inject({
      url: "/v1/jobs",
      headers: { host: "localhost", "accept-encoding": "gzip;q=0" },
    });
    expect(refused.headers["content-encoding"]).toBeUndefined();
    expect((await api.get("/v1/regions?pretty")).text).toBe('[\n    "global"\n]');
    expect((await api.get("/v1/regions?pretty=false")).text).toBe('["global"]');
  });

  it("bounds bodies in length, depth and number, and answers every null-shaped one", async () => {
    const put = (body: string): ReturnType<typeof api.call> => api.call("PUT", "/v1/jobs", { body });
    expect((await put(`{"Job":{"ID":"${"x".repeat(5 * 1024 * 1024)}"}}`)).status).toBe(413);
    expect((await api.call("PUT", "/v1/search", { body: JSON.stringify({ Prefix: "x".repeat(70_000) }) })).status).toBe(
      413,
    );
    expect(await put(`{"Job":${"[".repeat(5000)}${"]".repeat(5000)}}`)).toMatchObject({
      status: 400,
      text: expect.stringContaining("levels deep"),
    });
    expect(await put(`{"Job":[${"1,".repeat(250_000)}1]}`)).toMatchObject({
      status: 400,
      text: expect.stringContaining("values"),
    });
    for (const body of [
      "null",
      "[]",
      "1",
      '"x"',
      "true",
      "{}",
      '{"Job":null}',
      '{"Job":[]}',
      '{"Job":{}}',
      '{"Job":{"TaskGroups":null}}',
      '{"Job":{"ID":"x","TaskGroups":[null]}}',
      '{"Job":{"ID":"x","TaskGroups":[{"Tasks":[null]}]}}',
      "{bad",
      "",
      '{"Job":{"ID":5}}',
      '{"Job":{"ID":"x"},"Submission":5}',
      '{"Job":{"ID":"x"},"Submission":{"VariableFlags":{"a":5}}}',
      '{"Job":{"ID":"x"},"JobModifyIndex":1.5}',
    ]) {
      const answer = await put(body);
      expect(answer.status, body).toBeGreaterThanOrEqual(400);
      expect(answer.text.length, body).toBeGreaterThan(0);
    }
    const deep = {
      Job: jobBody(
        "deep",
        {},
        {},
        { Config: { command: "x", a: JSON.parse(`${'{"a":'.repeat(70)}1${"}".repeat(70)}`) } },
      ),
    };
    expect((await api.call("PUT", "/v1/jobs", { body: deep })).status).toBe(400);
    expect(h.server.state.tables.jobs.size).toBe(0);
  });

  it("keeps numbers that JSON would change out of jobs", async () => {
    const body = JSON.stringify({ Job: jobBody("big", { Priority: 1 }) }).replace(
      '"Priority":1',
      '"Priority":9007199254740993',
    );
    expect((await api.call("PUT", "/v1/jobs", { body })).status).toBe(400);
  });

  it("refuses names that are no plain text, whatever they would do", async () => {
    for (const name of ["a\nb", "\u001b[31mred", "..", ".", "a/b", ""]) {
      const answer = await submit(
        "web",
        {},
        { Tasks: [{ Name: name, Driver: "raw_exec", Config: { command: "/bin/true" } }] },
      );
      expect([JSON.stringify(name), answer.status]).toEqual([JSON.stringify(name), 500]);
    }
    expect(h.server.state.tables.jobs.size).toBe(0);
  });
});
