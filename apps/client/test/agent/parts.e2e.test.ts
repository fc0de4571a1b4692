import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { buildAgent, resolveAgentConfig, type Agent } from "../../src/agent/index.ts";
import { endProcessesBelow } from "../e2e/processes.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function until<T>(what: string, probe: () => Promise<T | undefined | false>): Promise<T> {
  const over = performance.now() + 60_000;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > over) throw new Error(`not seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function call(agent: Agent, method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await fetch(`${agent.http.address}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** Serves what it was given: the downloaded file and the rendered one. */
const PROGRAM = `
const { readFileSync } = require("fs");
require("http").createServer((q, a) => a.end(readFileSync("local/file.txt", "utf8") + readFileSync("local/color.txt", "utf8") + process.env.SIZE))
  .listen(Number(process.env.NOMAD_PORT_http), process.env.NOMAD_IP_http);
`;

it("a real task gets its artifact, templates and variables, is listed and checked, and restarts when a variable changes", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-parts-"));
  cleanups.push(async () => {
    // The driver's process outlives its agent.
    await endProcessesBelow(dataDir);
    // A task that was ended from outside leaves the mounts of its secrets.
    for (const line of (await readFile("/proc/mounts", "utf8")).split("\n").reverse()) {
      const target = line.split(" ")[1] ?? "";
      if (target.startsWith(`${dataDir}/`)) spawnSync("umount", [target]);
    }
    await rm(dataDir, { recursive: true, force: true });
  });
  const files = createServer((_request, response) => response.end("fetched ")).listen(0, "127.0.0.1");
  await new Promise((resolve) => files.once("listening", resolve));
  cleanups.push(() => files.close());
  const agent = await buildAgent(resolveAgentConfig({ dataDir, port: 0 }, {}));
  cleanups.push(() => agent.stop());
  await agent.start();
  await agent.ready;

  const job = {
    ID: "parts",
    Name: "parts",
    Type: "service",
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        Networks: [{ DynamicPorts: [{ Label: "http" }] }],
        Update: { MinHealthyTime: 1e9, HealthyDeadline: 30e9, ProgressDeadline: 60e9 },
        Services: [
          {
            Name: "parts",
            Provider: "nomad",
            PortLabel: "http",
            Tags: ["v1"],
            Checks: [{ Name: "up", Type: "http", Path: "/", Interval: 1e9, Timeout: 1e9 }],
          },
        ],
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: process.execPath, args: ["-e", PROGRAM] },
            Resources: { CPU: 100, MemoryMB: 100 },
            Artifacts: [{ GetterSource: `http://127.0.0.1:${(files.address() as AddressInfo).port}/file.txt` }],
            Templates: [
              {
                EmbeddedTmpl: '{{ with nomadVar "nomad/jobs/parts" }}{{ .color }} {{ end }}',
                DestPath: "local/color.txt",
                Splay: 0,
              },
              {
                EmbeddedTmpl: '{{ with nomadVar "nomad/jobs/parts" }}SIZE={{ .size }}{{ end }}',
                DestPath: "${NOMAD_SECRETS_DIR}/size.env",
                Envvars: true,
                ChangeMode: "noop",
              },
            ],
          },
        ],
      },
    ],
  };
  await call(agent, "PUT", "/v1/jobs", { Job: job });
  const list = async (): Promise<Json> => (await call(agent, "GET", "/v1/job/parts/allocations"))[0];
  const alloc = async (): Promise<Json> => {
    const stub = await list();
    return stub === undefined ? undefined : call(agent, "GET", `/v1/allocation/${stub.ID}`);
  };
  const events = (a: Json): string[] => a?.TaskStates?.t?.Events?.map((e: Json) => e.DisplayMessage) ?? [];
  await until("the missing variable is told", async () =>
    events(await alloc()).includes("Missing: nomad.var.block(nomad/jobs/parts@default.global)"),
  );

  await call(agent, "PUT", "/v1/var/nomad/jobs/parts", { Items: { color: "red", size: "3" } });
  const healthy = await until("the allocation is healthy", async () => {
    const a = await alloc();
    return a?.DeploymentStatus?.Healthy === true ? a : false;
  });
  const checks = await call(agent, "GET", `/v1/client/allocation/${healthy.ID}/checks`);
  expect(Object.values(checks)).toMatchObject([{ Service: "parts", Check: "up", Status: "success", StatusCode: 200 }]);
  const [service] = await call(agent, "GET", "/v1/service/parts");
  expect(service).toMatchObject({
    AllocID: healthy.ID,
    JobID: "parts",
    Tags: ["v1"],
    NodeID: agent.nodeId,
    Datacenter: "dc1",
  });
  const served = async (): Promise<string> => (await fetch(`http://${service.Address}:${service.Port}/`)).text();
  expect(await served()).toBe("fetched red 3");
  expect(await readFile(join(dataDir, "alloc", healthy.ID, "t", "local", "color.txt"), "utf8")).toBe("red ");

  await call(agent, "PUT", "/v1/var/nomad/jobs/parts", { Items: { color: "blue", size: "4" } });
  await until(
    "the task has restarted with the new values",
    async () => (await served().catch(() => "")) === "fetched blue 4",
  );
  // The event reaches the server with the next report.
  await until("the restart is told", async () =>
    events(await alloc()).includes("Template with change_mode restart re-rendered"),
  );

  await call(agent, "DELETE", "/v1/job/parts");
  await until("the allocation has ended", async () => (await alloc())?.ClientStatus === "complete");
  expect(await call(agent, "GET", "/v1/service/parts")).toEqual([]);
}, 120_000);
