import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalAllocDir } from "@outrider/allocdir-interface/local";
import { taskLogs, type AllocDir } from "@outrider/allocdir-interface";
import { systemClock } from "@outrider/backoff";
import { noopLogger } from "@outrider/foundation";
import {
  AllocResourceUsageStruct,
  CpuStatsStruct,
  HostStatsStruct,
  make,
  MemoryStatsStruct,
} from "@outrider/nomad-structs";
import {
  allResources,
  createHttpServer,
  WaitingQueries,
  type ApiContext,
  type HttpServer,
  type HttpServerOptions,
  type WaitingLimits,
} from "../../src/http/index.ts";
import { MetricsRegistry } from "../../src/metrics/index.ts";
import { nodeError, unknownAlloc } from "../../src/node/node-error.ts";
import type { ExecInput, ExecOutput, ExecRequest } from "@outrider/plugin-driver";
import type { NodeHandlers } from "../../src/node/index.ts";
import { NODE_ID, testNode, type ServerHarness } from "../server/harness.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly json: any;
}

/** The HTTP API over an embedded server; the node's side is made up, its files are real. */
export class HttpHarness {
  readonly calls: string[] = [];
  readonly dirs = new Map<string, AllocDir>();
  readonly waiting: WaitingQueries;
  readonly context: ApiContext;
  readonly http: HttpServer;
  readonly metrics: MetricsRegistry;
  readonly root = mkdtempSync(join(tmpdir(), "outrider-http-"));
  readonly h: ServerHarness;
  nodeUp = true;
  readonly paused = new Map<string, string>();

  constructor(
    h: ServerHarness,
    o: { limits?: WaitingLimits; prometheus?: boolean; server?: Partial<HttpServerOptions>; realTime?: boolean } = {},
  ) {
    this.h = h;
    const clock = o.realTime === true ? systemClock : h.clock;
    this.metrics = new MetricsRegistry({ clock, host: "node1" });
    this.waiting = new WaitingQueries({
      limits: o.limits ?? { queries: 8, streams: 8 },
      feed: h.server.state.feed,
      clock,
      random: () => 0,
    });
    this.context = {
      server: h.server,
      waiting: this.waiting,
      metrics: this.metrics,
      prometheus: o.prometheus ?? true,
      clock,
      node: () =>
        this.nodeUp
          ? {
              node: h.server.state.tables.nodes.get(NODE_ID) ?? testNode(),
              heartbeat: { lastMs: h.clock.now(), ttlMs: 15_000 },
              counts: () => ({
                allocations: 1,
                migrating: 0,
                blocked: 0,
                pending: 0,
                running: 1,
                terminal: 0,
                tasks: { pending: 0, running: 1, dead: 0 },
              }),
            }
          : undefined,
      handlers: () => (this.nodeUp ? this.#handlers() : undefined),
      agent: () => ({
        name: "node1",
        region: "global",
        datacenter: "dc1",
        version: "1.2.3",
        httpAddress: "127.0.0.1:4646",
        httpPort: 4646,
        serverId: NODE_ID,
        startedMs: 0,
        dataDir: "/x",
      }),
      parseHcl: (source) => {
        if (source === "bad") throw new Error("input.hcl:1,1-2: it is bad");
        return { ID: source };
      },
    };
    this.http = createHttpServer({
      bind: { host: "127.0.0.1", port: 0 },
      guard: { allowedHosts: [], token: undefined },
      region: "global",
      resources: allResources(this.context),
      waiting: this.waiting,
      logger: noopLogger,
      ...o.server,
    });
  }

  /** Makes the folder of an allocation, with logs of a task. */
  async allocDir(id: string, task: string, logs: Record<string, string>): Promise<AllocDir> {
    const dir = createLocalAllocDir({ allocId: id, root: this.root, asRoot: false });
    const taskDir = dir.newTaskDir({ name: task });
    await dir.build();
    await taskDir.build({ isolation: "none" });
    mkdirSync(join(this.root, id, "alloc", "logs"), { recursive: true });
    for (const [name, text] of Object.entries(logs)) writeFileSync(join(this.root, id, "alloc", "logs", name), text);
    this.dirs.set(id, dir);
    return dir;
  }

  /** What an exec does. */
  exec: (o: ExecRequest, input: AsyncIterable<ExecInput>, signal: AbortSignal) => AsyncIterable<ExecOutput> =
    async function* () {
      yield { exited: { exitCode: 0, signal: 0, oomKilled: false } };
    };

  #handlers(): NodeHandlers {
    const dirOf = (id: string): AllocDir => {
      const dir = this.dirs.get(id);
      if (dir === undefined) throw unknownAlloc(id);
      return dir;
    };
    const called = async (text: string): Promise<void> => void this.calls.push(text);
    const tasksOf = (id: string): string[] => {
      const alloc = this.h.server.state.tables.allocs.get(id);
      return (alloc?.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup)?.Tasks ?? []).map((t) => t.Name);
    };
    const paused = this.paused;
    return {
      hasAlloc: (id) => this.dirs.has(id),
      allocStats: async (id) => {
        const usage = {
          MemoryStats: make(MemoryStatsStruct, { RSS: 4096, Measured: ["RSS"] }),
          CpuStats: make(CpuStatsStruct, { Percent: 1, Measured: ["Percent"] }),
          DeviceStats: [],
        };
        return make(AllocResourceUsageStruct, {
          ResourceUsage: usage,
          Tasks: Object.fromEntries(
            tasksOf(id).map((t) => [t, { ResourceUsage: usage, Timestamp: 1, Pids: { "12": usage } }]),
          ),
          Timestamp: 1,
        } as never);
      },
      exec: (id, o, input, signal) => {
        dirOf(id);
        if (!tasksOf(id).includes(o.task))
          throw nodeError("ERR_OUTRIDER_NODE_UNKNOWN_TASK", `unknown task name ${JSON.stringify(o.task)}`);
        return this.exec(o, input, signal);
      },
      hostStats: async () =>
        make(HostStatsStruct, {
          Memory: { Total: 100, Available: 50, Used: 50, Free: 10 },
          CPU: [{ CPU: "cpu0", Idle: 50 }],
          DiskStats: [
            {
              Device: "/dev/vda",
              Mountpoint: "/",
              Size: 10,
              Used: 5,
              Available: 5,
              UsedPercent: 50,
              InodesUsedPercent: 3,
            },
          ],
          AllocDirStats: { Size: 10 },
          Uptime: 5,
          Timestamp: 1,
          CPUTicksConsumed: 1.5,
        } as never),
      signal: async (id, task, signal) => {
        if (task !== "" && !tasksOf(id).includes(task)) throw nodeError("ERR_OUTRIDER_NODE_INVALID", "Task not found");
        await called(`signal ${task} ${signal}`);
      },
      restart: async (id, o) => {
        if (o.allTasks && o.task !== "")
          throw nodeError("ERR_OUTRIDER_NODE_INVALID", "task name cannot be set when restarting all tasks");
        if (o.task !== "" && !tasksOf(id).includes(o.task))
          throw nodeError("ERR_OUTRIDER_NODE_INVALID", `Could not find task runner for task: ${o.task}`);
        await called(`restart ${o.task} ${o.allTasks}`);
      },
      setPause: async (id, task, state) => {
        paused.set(`${id}/${task}`, state === "schedule_resume" ? "" : state);
        await called(`pause ${task} ${state}`);
      },
      getPause: async (id, task) => (paused.get(`${id}/${task}`) ?? "") as never,
      checks: async () => ({}),
      allocFs: (id) => dirOf(id),
      logs: (id, request, signal) => {
        if (!tasksOf(id).includes(request.task) && tasksOf(id).length > 0)
          throw nodeError("ERR_OUTRIDER_NODE_UNKNOWN_TASK", `unknown task name ${JSON.stringify(request.task)}`);
        return taskLogs(dirOf(id), request, { signal, clock: this.context.clock });
      },
      collectGarbage: async (id) => {
        if (id !== undefined && !this.dirs.has(id))
          throw nodeError(
            "ERR_OUTRIDER_NODE_NOT_ELIGIBLE",
            "No such allocation on client, or allocation not eligible for GC",
          );
        await called(`gc ${id ?? "all"}`);
      },
    };
  }

  async call(
    method: string,
    url: string,
    o: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const payload = o.body === undefined ? undefined : typeof o.body === "string" ? o.body : JSON.stringify(o.body);
    const response = await this.http.app.inject({
      method: method as "GET",
      url,
      headers: { host: "127.0.0.1:4646", ...o.headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const headers = Object.fromEntries(Object.entries(response.headers).map(([k, v]) => [k, String(v)]));
    const text = response.payload;
    return {
      status: response.statusCode,
      headers,
      text,
      json:
        headers["content-type"]?.startsWith("application/json") === true &&
        headers["content-encoding"] === undefined &&
        text !== "" &&
        !text.includes("}{")
          ? JSON.parse(text)
          : undefined,
    };
  }

  get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call("GET", url, { headers });
  }

  async close(): Promise<void> {
    await this.http.close();
    await this.h.server[Symbol.asyncDispose]();
    for (const dir of this.dirs.values()) await dir.destroy();
    rmSync(this.root, { recursive: true, force: true });
  }
}
