import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildAgent, resolveAgentConfig, type Agent, type AgentSettings } from "../../src/agent/index.ts";
import { fakeDrivers } from "./fake-drivers.ts";
import { FakeRunners } from "./fake-runner.ts";

let dir: string;
const agents: Agent[] = [];
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "outrider-agent-"))));
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function boot(runners: FakeRunners, settings: AgentSettings = {}): Promise<Agent> {
  const agent = await buildAgent(resolveAgentConfig({ dataDir: join(dir, "data"), port: "0", ...settings }, {}), {
    buildRunner: runners.build,
    drivers: fakeDrivers(),
    hostEnv: {},
  });
  agents.push(agent);
  await agent.start();
  await agent.ready;
  return agent;
}

const job = (id: string, more: object = {}): object => ({
  Job: {
    ID: id,
    Name: id,
    Type: "service",
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: 2,
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: "/bin/sleep", args: ["60"] },
            Resources: { CPU: 10, MemoryMB: 10 },
          },
        ],
      },
    ],
    ...more,
  },
});

async function call(
  agent: Agent,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: any; headers: Headers }> {
  const response = await fetch(`${agent.http.address}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : text,
  };
}

async function until<T>(what: () => Promise<T | undefined>): Promise<T> {
  for (const over = performance.now() + 60_000; performance.now() < over;) {
    const value = await what();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("nothing came");
}

describe("agent", () => {
  it("runs a job that is submitted over HTTP and shows it running, then stops it", async () => {
    const runners = new FakeRunners();
    runners.behaviour = () => ({ healthy: true });
    const agent = await boot(runners);
    const submitted = await call(agent, "PUT", "/v1/jobs", job("web"));
    expect(submitted.status, JSON.stringify(submitted.body)).toBe(200);
    expect(submitted.body.EvalID).toMatch(/^[0-9a-f-]{36}$/);
    const allocs = await until(async () => {
      const { body } = await call(agent, "GET", "/v1/job/web/allocations");
      return body.length === 2 && body.every((a: any) => a.ClientStatus === "running") ? body : undefined;
    });
    expect(allocs.map((a: any) => a.Name).sort()).toEqual(["web.g[0]", "web.g[1]"]);
    expect((await call(agent, "GET", "/v1/job/web")).body.Status).toBe("running");
    await until(async () =>
      (await call(agent, "GET", "/v1/job/web/deployment")).body.Status === "successful" ? true : undefined,
    );
    const stopped = await call(agent, "DELETE", "/v1/job/web");
    expect(stopped.status).toBe(200);
    await until(async () => ((await call(agent, "GET", "/v1/job/web")).body.Status === "dead" ? true : undefined));
    expect([...runners.all.values()].every((r) => r.calls.includes("update stop"))).toBe(true);
  });

  it("finds everything again after an end, and runs nothing twice", async () => {
    const first = new FakeRunners();
    let agent = await boot(first);
    await call(agent, "PUT", "/v1/jobs", job("web"));
    await until(async () => {
      const { body } = await call(agent, "GET", "/v1/job/web/allocations");
      return body.length === 2 && body.every((a: any) => a.ClientStatus === "running") ? body : undefined;
    });
    const index = Number((await call(agent, "GET", "/v1/jobs")).headers.get("x-nomad-index"));
    await agent.stop();
    expect([...first.all.values()].every((r) => r.calls.includes("shutdown") && !r.calls.includes("destroy"))).toBe(
      true,
    );

    const second = new FakeRunners();
    agent = await boot(second);
    expect([...second.all.keys()].sort()).toEqual([...first.all.keys()].sort());
    const again = await call(agent, "GET", "/v1/jobs");
    expect(again.body.map((j: any) => [j.ID, j.Status])).toEqual([["web", "running"]]);
    expect(Number(again.headers.get("x-nomad-index"))).toBeGreaterThanOrEqual(index);
    expect(agent.nodeId).toBe(agents[0]!.nodeId);
  });

  it("keeps its folder private, versioned and locked", async () => {
    const agent = await boot(new FakeRunners());
    const data = join(dir, "data");
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(data, "format"), "utf8")).toBe("1\n");
    const config = resolveAgentConfig({ dataDir: data, port: "0" }, {});
    await expect(buildAgent(config, { drivers: fakeDrivers() })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_LOCKED",
    });
    await agent.stop();
    writeFileSync(join(data, "format"), "2\n");
    await expect(buildAgent(config, { drivers: fakeDrivers() })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_AGENT_DATA_DIR_NEWER",
    });
    writeFileSync(join(data, "format"), "1\n");
    await (await buildAgent(config, { drivers: fakeDrivers() })).stop();
  });

  it("names the option when its port is taken, and lets go of the folder", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const port = (other.address() as { port: number }).port;
    const config = resolveAgentConfig({ dataDir: join(dir, "data"), port }, {});
    const agent = await buildAgent(config, { drivers: fakeDrivers() });
    await expect(agent.start()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_HTTP_PORT_IN_USE",
      message: expect.stringContaining("-port or OUTRIDER_HTTP_PORT"),
    });
    await expect(agent.ready).rejects.toBeDefined();
    await (await buildAgent(config, { drivers: fakeDrivers() })).stop();
    await new Promise((resolve) => other.close(resolve));
  });

  it("listens on a private unix socket when asked to", async () => {
    const path = join(dir, "run", "api.sock");
    const agent = await boot(new FakeRunners(), { socket: path });
    expect(agent.http.address).toBe(`unix://${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request({ socketPath: path, path: "/v1/jobs" }, (response) => resolve(response.resume().statusCode))
        .once("error", reject)
        .end();
    });
    expect(status).toBe(200);
  });

  it("opens no connection to anybody", async () => {
    const agent = await boot(new FakeRunners());
    await call(agent, "PUT", "/v1/jobs", job("web"));
    const inodes = new Set<string>();
    const { readdirSync, readlinkSync } = await import("node:fs");
    for (const fd of readdirSync("/proc/self/fd")) {
      try {
        const match = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`));
        if (match?.[1] !== undefined) inodes.add(match[1]);
      } catch {
        // A descriptor that was closed meanwhile.
      }
    }
    const lines = ["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp"].flatMap((file) =>
      readFileSync(file, "utf8").trim().split("\n").slice(1),
    );
    const foreign = lines
      .map((line) => line.trim().split(/\s+/))
      .filter(
        (f) => inodes.has(f[9]!) && !/^(0100007F|0{8}|0{32}|0{24}0100007F|0{8}0{8}FFFF00000100007F)(:|$)/.test(f[2]!),
      );
    expect(foreign).toEqual([]);
  });
});
