import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobBody, ServerHarness } from "../server/harness.ts";
import { HttpHarness } from "./harness.ts";

let h: ServerHarness;
let api: HttpHarness;
beforeEach(async () => {
  h = await new ServerHarness().start();
  api = new HttpHarness(h);
  await h.submit(jobBody("web"));
});
afterEach(() => api.close());

describe("what Nomad has and this server has not", () => {
  it.each([
    ["GET", "/v1/acl/tokens", "access control"],
    ["POST", "/v1/acl/bootstrap", "access control"],
    ["PUT", "/v1/node/x/drain", "draining of nodes"],
    ["GET", "/v1/node/pools", "pools of nodes beyond the default"],
    ["GET", "/v1/operator/raft/configuration", "operating of servers"],
    ["GET", "/v1/volumes?type=csi", "volumes"],
    ["PUT", "/v1/volume/host/create", "volumes"],
    ["GET", "/v1/plugins", "plugins"],
    ["GET", "/v1/agent/monitor", "monitoring of the agent's log"],
    ["POST", "/v1/client/metadata", "changing metadata while the agent runs"],
    ["PUT", "/v1/namespace", "namespaces beyond the default"],
    ["PUT", "/v1/deployment/pause/x", "pausing of deployments"],
    ["GET", "/v1/scaling/policies", "scaling policies"],
    ["PUT", "/v1/job/web/plan", "job plan"],
    ["PUT", "/v1/job/web/versions/v1/tag", "tagging versions"],
    ["DELETE", "/v1/job/web/versions/v1/tag", "tagging versions"],
    ["GET", "/v1/job/web/actions", "actions of jobs"],
    ["PUT", "/v1/job/web/stable", "marking a version as stable"],
  ])("is refused by its name: %s %s", async (method, path, what) => {
    const answer = await api.call(method as "GET", path, method === "GET" ? {} : { body: {} });
    expect([answer.status, answer.text]).toEqual([501, `not supported by this server: ${what}`]);
  });

  it("is told apart from what Nomad has not either", async () => {
    expect(await api.get("/v1/nonsense")).toMatchObject({ status: 404, text: "" });
    expect((await api.call("PATCH" as "GET", "/v1/acl/tokens")).status).toBe(405);
  });
});
