/** Real agents on folders of their own: started, killed, asked, and looked at from outside. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import {
  acceptedOn,
  alive,
  cgroupsOf,
  connectionsOf,
  endProcessesBelow,
  listenersOf,
  mountsBelow,
  processesBelow,
  socketsOf,
} from "./processes.ts";

/** The built client. */
export const MAIN = process.env["OUTRIDER_E2E_MAIN"] ?? fileURLToPath(new URL("../../dist/main.js", import.meta.url));

const HEAP_PROBE = new URL("./heap-probe.mjs", import.meta.url).href;

/** Longer, more thorough runs. */
export const LONG = process.env["OUTRIDER_E2E_LONG"] === "1";

/** Asks again and again until the answer is neither undefined nor false. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 30_000,
): Promise<T> {
  const over = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > over) throw new Error(`within ${timeoutMs} ms not seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** Where an agent listens. */
export type Address = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** One request on a connection of its own. */
export function send(
  at: Address,
  method: string,
  path: string,
  o: { readonly headers?: Record<string, string>; readonly body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const r = request({ ...at, method, path, headers: o.headers ?? {}, agent: false, timeout: 30_000 }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.once("error", reject);
    });
    r.once("timeout", () => r.destroy(new Error(`${method} ${path}: no answer within 30 s`)));
    r.once("error", reject);
    r.end(o.body);
  });
}

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export function exec(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = "/",
  timeout = 60_000,
): Promise<Run> {
  return new Promise((resolve) => {
    execFile(command, args, { env, cwd, timeout, maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });
}

/** The environment of programs under test: nothing of the one who runs the tests may steer them. */
export function cleanEnv(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NOMAD_|OUTRIDER_|VITEST|NODE_)/.test(name));
  return { ...Object.fromEntries(kept), ...more };
}

export interface RigOptions {
  /** Options of the agent beside its data folder. */
  readonly flags?: (dir: string) => string[];
  readonly token?: string;
  /** Collects garbage on demand: see {@link Rig.heap}. */
  readonly heapProbe?: boolean;
  /** The data folder, below the rig's own. */
  readonly data?: string;
}

/** One data folder and the agents that serve it, one after the other. */
export class Rig {
  readonly dir: string;
  readonly data: string;
  agent: ChildProcess | undefined;
  stderr = "";
  #address: Address | undefined;
  #url = "";
  readonly #token: string | undefined;
  readonly #heapProbe: boolean;
  readonly #flags: readonly string[];
  readonly #drivers = new Set<number>();
  readonly #foreign = new Set<string>();
  readonly #watch: NodeJS.Timeout;

  constructor(name: string, o: RigOptions = {}) {
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), `outrider-e2e ${name}-`)));
    this.data = join(this.dir, o.data ?? "data");
    this.#flags = o.flags?.(this.dir) ?? ["-port", "0"];
    this.#token = o.token;
    this.#heapProbe = o.heapProbe === true;
    this.#watch = setInterval(() => this.#look(), 100);
  }

  get #heapFile(): string {
    return join(this.dir, "heap.json");
  }

  get url(): string {
    return this.#url;
  }

  get address(): Address {
    if (this.#address === undefined) throw new Error("the agent has not started");
    return this.#address;
  }

  /** Starts an agent and waits until it serves. */
  async start(): Promise<void> {
    const probe = this.#heapProbe ? ["--expose-gc", "--import", HEAP_PROBE] : [];
    const args = [...probe, MAIN, "agent", "-data-dir", this.data, ...this.#flags];
    const env = cleanEnv({
      ...(this.#token === undefined ? {} : { OUTRIDER_HTTP_TOKEN: this.#token }),
      ...(this.#heapProbe ? { HEAP_PROBE_FILE: this.#heapFile } : {}),
    });
    const agent = spawn(process.execPath, args, { cwd: this.dir, env, stdio: ["ignore", "pipe", "pipe"] });
    this.agent = agent;
    let stdout = "";
    agent.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    agent.stderr.setEncoding("utf8").on("data", (chunk: string) => (this.stderr += chunk));
    await until(
      "an agent that serves",
      () => {
        if (agent.exitCode !== null || agent.signalCode !== null)
          throw new Error(`the agent ended with ${agent.exitCode ?? agent.signalCode}: ${this.stderr.slice(-2000)}`);
        return stdout.includes("\n");
      },
      60_000,
    );
    const [, url] = / at (.+), data in /.exec(stdout) ?? [];
    this.#url = url ?? "";
    this.#address = this.#url.startsWith("unix://")
      ? { socketPath: this.#url.slice("unix://".length) }
      : { host: new URL(this.#url).hostname.replace(/^\[|\]$/g, ""), port: Number(new URL(this.#url).port) };
  }

  /** Ends the agent with a signal and waits for its end. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | NodeJS.Signals | null> {
    const { agent } = this;
    if (agent === undefined) throw new Error("there is no agent");
    this.agent = undefined;
    if (agent.exitCode === null && agent.signalCode === null) {
      const gone = new Promise((resolve) => agent.once("exit", resolve));
      agent.kill(signal);
      await gone;
    }
    return agent.exitCode ?? agent.signalCode;
  }

  get agentPid(): number {
    return this.agent?.pid ?? 0;
  }

  /** The driver process of this folder; 0 when there is none. */
  get driverPid(): number {
    const file = join(this.data, "driver", "driver.json");
    if (!existsSync(file)) return 0;
    const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
    if (!alive(pid) || !processesBelow(this.data).some((p) => p.pid === pid)) return 0;
    this.#drivers.add(pid);
    return pid;
  }

  /** Kills the driver process and waits for its end. */
  async killDriver(): Promise<void> {
    const pid = this.driverPid;
    if (pid === 0) throw new Error("there is no driver process");
    process.kill(pid, "SIGKILL");
    await until("the end of the driver process", () => !alive(pid));
  }

  /** A request of our own kind; fails when it is refused. */
  async call<T = any>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await send(this.address, method, path, {
      headers: this.#token === undefined ? {} : { "x-nomad-token": this.#token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return (answer.text === "" ? undefined : JSON.parse(answer.text)) as T;
  }

  /** Our command line against this agent. */
  cli(...args: string[]): Promise<Run> {
    return exec(process.execPath, [MAIN, ...args], cleanEnv(this.cliEnv()), this.dir);
  }

  cliEnv(): Record<string, string> {
    return { NOMAD_ADDR: this.url, ...(this.#token === undefined ? {} : { NOMAD_TOKEN: this.#token }) };
  }

  submit(job: object): Promise<{ EvalID: string }> {
    return this.call("PUT", "/v1/jobs", { Job: job });
  }

  allocs(jobId: string): Promise<any[]> {
    return this.call("GET", `/v1/job/${jobId}/allocations`);
  }

  /** The only allocation of a job, once `test` holds for it. */
  alloc(jobId: string, what: string, test: (alloc: any) => boolean, timeoutMs?: number): Promise<any> {
    return until(
      `job ${jobId}: ${what}`,
      async () => (await this.allocs(jobId)).find((alloc) => test(alloc)),
      timeoutMs,
    );
  }

  /** Bytes that the agent really holds. */
  async heap(): Promise<number> {
    rmSync(this.#heapFile, { force: true });
    this.agent?.kill("SIGUSR2");
    await until("the heap's size", () => existsSync(this.#heapFile));
    const { heapUsed, external } = JSON.parse(readFileSync(this.#heapFile, "utf8")) as Record<string, number>;
    return (heapUsed ?? 0) + (external ?? 0);
  }

  /** How many clients the agent is connected with now. */
  clients(): number {
    return "port" in this.address ? acceptedOn(this.agentPid, this.address.port) : 0;
  }

  /**
   * Waits for what has to come within `ms` on a machine that has nothing else to do: counted in steps of 50 ms with an answer of the agent in
   * each, so that a busy machine gets the time that it needs, and an agent that waits for something of its own does not.
   */
  async soon(what: string, check: () => boolean, ms: number): Promise<void> {
    for (let left = Math.ceil(ms / 50); !check(); left--) {
      if (left === 0) throw new Error(`not within ${ms} ms of an idle machine: ${what}`);
      await this.call("GET", "/v1/agent/self");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** TCP addresses on which agent and driver listen. */
  listening(): string[] {
    return [this.agentPid, this.driverPid].flatMap((pid) => listenersOf(pid));
  }

  /** Ends all jobs, the agent and the driver process, and asks that nothing at all is left of them. */
  async close(): Promise<void> {
    try {
      if (this.agent === undefined && existsSync(this.data)) await this.start();
      if (this.agent !== undefined) {
        const jobs = await this.call<any[]>("GET", "/v1/jobs");
        for (const { ID } of jobs) await this.call("DELETE", `/v1/job/${encodeURIComponent(ID)}?purge=true`);
        await until("the end of all tasks", () => {
          const left = processesBelow(this.data).filter((p) => p.pid !== this.agentPid && p.pid !== this.driverPid);
          return left.length === 0 && mountsBelow(this.dir).length === 0;
        });
        expect(await this.end()).toBe(0);
      }
      // Without tasks there is no reason for it to stay.
      await until("the end of the driver process", () => this.driverPid === 0).catch((reason: unknown) => {
        const holds = ["slots", "logs", "tasks"].map((part) => {
          const folder = join(this.data, "driver", part);
          const text = (name: string): string => readFileSync(join(folder, name), "latin1").replaceAll("\n", "|");
          return readdirSync(folder).map((name) => `${part} ${text(name).slice(0, 300)}`);
        });
        throw new Error(`the driver process stays; it holds ${holds.flat().join("\n") || "nothing"}`, {
          cause: reason,
        });
      });
      expect([...this.#foreign]).toEqual([]);
      expect(this.remains()).toEqual([]);
    } finally {
      clearInterval(this.#watch);
      this.agent?.kill("SIGKILL");
      await endProcessesBelow(this.dir);
      rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** Processes, mounts and cgroups of this folder. */
  remains(): string[] {
    return [
      ...processesBelow(this.dir).map((p) => `process ${p.pid} ${p.command}`),
      ...mountsBelow(this.dir).map((mount) => `mount ${mount}`),
      ...cgroupsOf(join(this.data, "driver")).map((cgroup) => `cgroup ${cgroup}`),
    ];
  }

  /** Nobody but this machine may be on the other end of a socket of agent and driver. */
  #look(): void {
    for (const pid of [this.agentPid, ...this.#drivers]) {
      if (pid !== 0) for (const foreign of connectionsOf(pid, socketsOf(pid))) this.#foreign.add(foreign);
    }
    if (this.#drivers.size === 0 && existsSync(join(this.data, "driver", "driver.json"))) void this.driverPid;
  }
}

/** A task that runs a shell script. */
export function shTask(name: string, script: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    Name: name,
    Driver: "raw_exec",
    Config: { command: "/bin/sh", args: ["-c", script] },
    Resources: { CPU: 1, MemoryMB: 10 },
    KillTimeout: 2_000_000_000,
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 2 },
    ...more,
  };
}

/** A job of one group. */
export function jobOf(
  id: string,
  tasks: readonly Record<string, unknown>[],
  o: { readonly type?: string; readonly group?: Record<string, unknown> } = {},
): Record<string, unknown> {
  return {
    ID: id,
    Name: id,
    Type: o.type ?? "service",
    Datacenters: ["*"],
    ...(o.type === undefined ? { Update: { HealthCheck: "task_states", MinHealthyTime: 100_000_000 } } : {}),
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        RestartPolicy: { Attempts: 0, Mode: "fail", Interval: 600_000_000_000, Delay: 1_000_000_000 },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        EphemeralDisk: { SizeMB: 10 },
        ...o.group,
        Tasks: tasks,
      },
    ],
  };
}
