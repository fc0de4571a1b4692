/** Ephemeral disks and followers of logs on a real agent: a changed job keeps its files, another node fetches them, a reader that is gone costs nothing. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalAllocDir } from "@outrider/allocdir-interface/local";
import { migrateToken } from "@outrider/allocdir-interface/migrate";
import { afterEach, describe, expect, it } from "vitest";
import { buildAgent, resolveAgentConfig, type Agent } from "../../src/agent/index.ts";
import { PreviousAlloc } from "../../src/node/previous-alloc.ts";
import { endProcessesBelow } from "../e2e/processes.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const TOKEN = "0123456789abcdef0123456789abcdef";

async function boot(): Promise<{ agent: Agent; dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-disk-"));
  cleanups.push(async () => {
    await endProcessesBelow(dataDir);
    for (const line of (await readFile("/proc/mounts", "utf8")).split("\n").reverse()) {
      const target = line.split(" ")[1] ?? "";
      if (target.startsWith(`${dataDir}/`)) spawnSync("umount", [target]);
    }
    await rm(dataDir, { recursive: true, force: true });
  });
  const agent = await buildAgent(resolveAgentConfig({ dataDir, port: 0, token: TOKEN }, {}));
  cleanups.push(() => agent.stop());
  await agent.start();
  await agent.ready;
  return { agent, dataDir };
}

async function until<T>(what: string, probe: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const over = performance.now() + 60_000;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > over) throw new Error(`not seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function call(agent: Agent, method: string, path: string, body?: unknown, token = TOKEN): Promise<Json> {
  const answer = await fetch(`${agent.http.address}${path}`, {
    method,
    headers: { "x-nomad-token": token },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return answer.headers.get("content-type")?.startsWith("application/json") === true ? JSON.parse(text) : text;
}

const job = (script: string, disk: object | undefined, version = "1"): object => ({
  Job: {
    ID: "disk",
    Name: "disk",
    Type: "service",
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        Update: { MinHealthyTime: 0, HealthyDeadline: 30e9, ProgressDeadline: 60e9 },
        ...(disk === undefined ? {} : { EphemeralDisk: { SizeMB: 300, ...disk } }),
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: "/bin/sh", args: ["-c", script] },
            Env: { VERSION: version },
            KillTimeout: 1e9,
            Resources: { CPU: 10, MemoryMB: 10 },
          },
        ],
      },
    ],
  },
});

const running = (agent: Agent, except: readonly string[] = []): Promise<Json> =>
  until("a running allocation", async () => {
    const allocs: Json[] = await call(agent, "GET", "/v1/job/disk/allocations");
    return allocs.find((a) => a.ClientStatus === "running" && a.DesiredStatus === "run" && !except.includes(a.ID));
  });

const events = (alloc: Json): string[] => alloc.TaskStates.t.Events.map((e: Json) => e.DisplayMessage);

/** Each start adds a line to both places, and leaves word that it is through. */
const KEEP = `echo $VERSION >> $NOMAD_ALLOC_DIR/data/lines; echo $VERSION >> local/lines; echo s > secrets/s; touch local/ready-$VERSION; exec sleep 600`;

describe("a sticky disk", () => {
  it("goes over to the changed version of its job, with what was written to data and local", async () => {
    const { agent, dataDir } = await boot();
    const submitted = await call(agent, "PUT", "/v1/jobs", job(KEEP, { Sticky: true }));
    expect(submitted.Warnings ?? "").toBe("");
    const first = await running(agent);
    const at = (id: string, path: string): string => join(dataDir, "alloc", id, path);
    await until("the first lines", () => existsSync(at(first.ID, "t/local/ready-1")));
    await call(agent, "PUT", "/v1/jobs", job(KEEP, { Sticky: true }, "2"));
    const second = await running(agent, [first.ID]);
    await until("the second lines", () => existsSync(at(second.ID, "t/local/ready-2")));
    expect(
      second.PreviousAllocation ?? (await call(agent, "GET", `/v1/allocation/${second.ID}`)).PreviousAllocation,
    ).toBe(first.ID);
    for (const path of ["alloc/data/lines", "t/local/lines"])
      expect(readFileSync(at(second.ID, path), "utf8")).toBe("1\n2\n");
    expect(existsSync(at(second.ID, "t/local/ready-1"))).toBe(true);
    expect(readdirSync(at(first.ID, "alloc"))).toEqual(["logs", "tmp"]);
    expect(events(second)).toContain(`Ephemeral disk of ${first.ID.slice(0, 8)} taken over (alloc/data, t/local)`);
    // Without the block the next version starts with nothing.
    await call(agent, "PUT", "/v1/jobs", job(KEEP, undefined, "3"));
    const third = await running(agent, [first.ID, second.ID]);
    await until("the third lines", () => existsSync(at(third.ID, "t/local/ready-3")));
    expect(readFileSync(at(third.ID, "alloc/data/lines"), "utf8")).toBe("3\n");
    expect(events(third).join()).not.toContain("Ephemeral");
  });

  it("is fetched by another node over HTTP with the allocation's token, and with no other", async () => {
    const { agent, dataDir } = await boot();
    await call(agent, "PUT", "/v1/jobs", job(KEEP, { Migrate: true }));
    const alloc = await running(agent);
    await until("the first lines", () => existsSync(join(dataDir, "alloc", alloc.ID, "t/local/ready-1")));
    const full = await call(agent, "GET", `/v1/allocation/${alloc.ID}`);
    const secret = (await readFile(join(dataDir, "client", "secret-id"), "utf8")).trim();
    const token = migrateToken(alloc.ID, secret);
    const path = `/v1/client/allocation/${alloc.ID}/snapshot`;
    for (const wrong of ["", migrateToken(full.EvalID, secret), migrateToken(alloc.ID, full.EvalID)])
      await expect(call(agent, "GET", path, undefined, wrong)).rejects.toThrow("403 Permission denied");
    await expect(call(agent, "GET", `/v1/allocation/${alloc.ID}`, undefined, token)).rejects.toThrow("403");

    const root = await mkdtemp(join(tmpdir(), "outrider-other-node-"));
    cleanups.push(() => rm(root, { recursive: true, force: true }));
    const id = "0a1b2c3d-0000-4000-8000-00000000abcd";
    const fresh = createLocalAllocDir({ allocId: id, root, asRoot: false });
    await fresh.build();
    const previous = new PreviousAlloc({
      alloc: { ...full, ID: id, PreviousAllocation: alloc.ID },
      nodeId: "another",
      allocRoot: root,
      runnerOf: () => undefined,
      link: { findDisk: () => Promise.resolve({ address: agent.http.address, token }) },
      hold: () => () => undefined,
    });
    expect(await previous.migrate(fresh, new AbortController().signal)).toMatchObject({ migrated: true });
    expect(readFileSync(join(fresh.allocDirPath, "alloc/data/lines"), "utf8")).toBe("1\n");
    expect(readFileSync(join(fresh.allocDirPath, "t/local/lines"), "utf8")).toBe("1\n");
    expect(readdirSync(join(fresh.allocDirPath, "t"))).toEqual(["local"]);
    expect(readdirSync(root)).toEqual([id]);
  });
});

describe("followers of a log", () => {
  /** How often this process has a file open, and how many inotify watches it has. */
  const open = (file: string): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === file;
      } catch {
        return false;
      }
    }).length;
  const watches = (): number =>
    readdirSync("/proc/self/fdinfo")
      .map((fd) => {
        try {
          return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").split("inotify wd:").length - 1;
        } catch {
          return 0;
        }
      })
      .reduce((a, b) => a + b, 0);

  it("share one watch however many they are, and are gone within a second when they hang up", async () => {
    const { agent, dataDir } = await boot();
    await call(agent, "PUT", "/v1/jobs", job("while :; do echo line; sleep 0.2; done", undefined));
    const alloc = await running(agent);
    const file = join(dataDir, "alloc", alloc.ID, "alloc/logs/t.stdout.0");
    await until("a first line", () => existsSync(file) && readFileSync(file).length > 0);
    const before = watches();
    const asked: ClientRequest[] = [];
    const got: number[] = [];
    const path = `/v1/client/fs/logs/${alloc.ID}?task=t&type=stdout&follow=true&plain=true`;
    for (let i = 0; i < 200; i++) {
      got.push(0);
      const one = request(
        `${agent.http.address}${path}`,
        { agent: false, headers: { "x-nomad-token": TOKEN } },
        (answer) => {
          answer.on("data", (data: Buffer) => (got[i] = (got[i] as number) + data.length));
          answer.on("error", () => undefined);
        },
      );
      one.on("error", () => undefined);
      one.end();
      asked.push(one);
    }
    cleanups.push(() => asked.forEach((one) => one.destroy()));
    await until("all followers", () => open(file) === 200 && got.every((bytes) => bytes > 0));
    expect(watches() - before).toBe(1);
    const seen = [...got];
    await until("more for everybody", () => got.every((bytes, i) => bytes > (seen[i] as number)));
    for (const one of asked) one.destroy();
    // A second in steps of 25 ms: the agent lives in this process and gets its turns, however busy the machine is.
    let steps = 0;
    await until("the end of all", () => ++steps > 40 || (open(file) === 0 && watches() === before));
    expect([open(file), watches()]).toEqual([0, before]);
  });
});
