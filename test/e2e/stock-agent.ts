/** A stock Nomad agent on loopback, server and client in one, with plugins of ours. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { freePorts, stockAgentConfig } from "../../tooling/build-config/stock-agent.ts";

/** Asks again and again until the answer is neither undefined nor false. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  for (const over = performance.now() + timeoutMs; ;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > over) throw new Error(`within ${timeoutMs} ms not seen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process as /proc shows it. */
interface Process {
  readonly pid: number;
  readonly args: string;
}

/** Running processes that work in a folder or were started from it. */
export function processesOf(folder: string): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^[1-9]\d*$/.test(name)) return [];
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      const cwd = readlinkSync(`/proc/${name}/cwd`);
      return args !== "" && (args.includes(folder) || cwd.startsWith(folder)) ? [{ pid: Number(name), args }] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}

/** The environment of what is tested: nothing of the one who runs the tests may steer it. */
function cleanEnv(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NOMAD_|OUTRIDER_|VITEST|NODE_|AWS_)/.test(name));
  return { ...Object.fromEntries(kept), ...more };
}

/** One data folder and the agents that serve it, one after the other. */
export class StockAgent {
  readonly dir: string;
  readonly plugins: string;
  log = "";
  readonly #nomad: string;
  #agent: ChildProcess | undefined;
  #port = 0;

  constructor(nomad: string) {
    this.#nomad = nomad;
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), "outrider-e2e-plugins-")));
    this.plugins = join(this.dir, "plugins");
    mkdirSync(this.plugins);
  }

  /** Puts executables into the plugin folder and names them in the configuration, each with the text of its `config` block. */
  async configure(plugins: Readonly<Record<string, string>>): Promise<void> {
    const ports = await freePorts(3);
    this.#port = ports[0] as number;
    const blocks = Object.entries(plugins).map(([executable, config]) => {
      cpSync(executable, join(this.plugins, basename(executable)));
      return `plugin "${basename(executable)}" {\n${config}\n}\n`;
    });
    const more = `log_level = "DEBUG"
plugin_dir = "${this.plugins}"
telemetry {
  publish_allocation_metrics = true
}
${blocks.join("")}`;
    writeFileSync(join(this.dir, "agent.hcl"), stockAgentConfig({ ports, more }));
  }

  async start(): Promise<void> {
    const args = ["agent", "-config", join(this.dir, "agent.hcl"), "-data-dir", join(this.dir, "data")];
    const agent = spawn(this.#nomad, args, { cwd: this.dir, env: cleanEnv(), stdio: ["ignore", "pipe", "pipe"] });
    this.#agent = agent;
    for (const stream of [agent.stdout, agent.stderr])
      stream?.on("data", (chunk: Buffer) => (this.log += String(chunk)));
    await until("a node that is ready", async () => {
      if (agent.exitCode !== null || agent.signalCode !== null)
        throw new Error(`the agent ended: ${this.log.slice(-3000)}`);
      const { code, stdout } = await this.nomad("node", "status", "-json");
      return code === 0 && (JSON.parse(stdout) as { Status: string }[])[0]?.Status === "ready";
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    if (agent === undefined || agent.exitCode !== null || agent.signalCode !== null) return;
    const gone = new Promise((resolve) => agent.once("exit", resolve));
    agent.kill(signal);
    await gone;
  }

  /** One command of the stock command line. */
  nomad(...args: string[]): Promise<Run> {
    const env = cleanEnv({ NOMAD_ADDR: `http://127.0.0.1:${this.#port}` });
    return new Promise((resolve) => {
      const child = execFile(this.#nomad, args, { cwd: this.dir, env, timeout: 60_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** One command on a terminal of its own. */
  onTerminal(command: string): Promise<Run> {
    const env = cleanEnv({ NOMAD_ADDR: `http://127.0.0.1:${this.#port}`, SHELL: "/bin/sh" });
    const args = ["-qec", `${this.#nomad} ${command}`, "/dev/null"];
    return new Promise((resolve) => {
      execFile("/usr/bin/script", args, { cwd: this.dir, env, timeout: 60_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
      });
    });
  }

  /** A command that must succeed. */
  async ok(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.nomad(...args);
    if (code !== 0) throw new Error(`nomad ${args.join(" ")}: ${code} ${stdout}${stderr}`);
    return stdout;
  }

  /** Submits the text of a job file. */
  async submit(jobId: string, text: string): Promise<void> {
    const path = join(this.dir, `${jobId}.nomad.hcl`);
    writeFileSync(path, text);
    await this.ok("job", "run", "-detach", path);
  }

  async allocs(jobId: string): Promise<any[]> {
    return JSON.parse(await this.ok("job", "allocs", "-json", jobId)) as any[];
  }

  /** The first allocation of a job with a client status, once there is one. */
  async alloc(jobId: string, status: string): Promise<any> {
    try {
      return await until(`job ${jobId}: ${status}`, async () =>
        (await this.allocs(jobId)).find((alloc) => alloc.ClientStatus === status),
      );
    } catch (reason) {
      const there = JSON.stringify(await this.allocs(jobId));
      throw new Error(`${String(reason)}: ${there}\n${this.log.slice(-3000)}`, { cause: reason });
    }
  }

  /** The plugin processes of the agent that runs, by the executable's name. */
  pluginPids(file: string): number[] {
    return processesOf(join(this.plugins, file)).map(({ pid }) => pid);
  }

  /** Ends everything and removes the folder. */
  async close(): Promise<void> {
    await this.end("SIGKILL");
    await until("the end of all processes", () => {
      const left = processesOf(this.dir);
      for (const { pid } of left) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // gone meanwhile
        }
      }
      return left.length === 0;
    });
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    for (const mount of mounts
      .flatMap((line) => line.split(" ")[1] ?? [])
      .filter((path) => path.startsWith(this.dir))) {
      await new Promise((resolve) => execFile("umount", ["-l", mount], resolve));
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
