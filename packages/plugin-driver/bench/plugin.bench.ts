// A plugin as an agent meets it: how soon its handshake line comes, what statistics cost it, how large it is with twenty tasks. The hello driver
// of examples/ as it is built (npm run build), and a plugin with synthetic samples.
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TaskConfig } from "../src/index.ts";
import { encodeConfig, type HostedDriver, launchPlugin } from "../src/host/index.ts";
import { MAGIC_COOKIE_KEY, MAGIC_COOKIE_VALUE } from "../src/protocol/plugin-env.ts";

const HELLO = fileURLToPath(new URL("../../../examples/driver-hello/dist/outrider-driver-hello", import.meta.url));
const STARTS = 21;
const STREAMS = 100;
const PER_STREAM = 100;
const SECONDS = 10;
const TASKS = 20;
/** Clock ticks a second, fixed by the kernel's ABI. */
const TICKS = 100;

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] as number;
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
}
const rssMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly goal: string;
  readonly peer?: string;
  readonly theirs?: number;
}
const row = ({ name, value, unit, goal, peer, theirs }: Row): void =>
  console.log(
    JSON.stringify({
      package: "plugin-driver",
      case: name,
      ours: value,
      peer: peer ?? null,
      theirs: theirs ?? null,
      unit,
      ratio: theirs === undefined ? null : value / theirs,
      goal,
    }),
  );

/** From spawn to the first line, ms of time and of the process's CPU. */
async function firstLine(command: string, args: readonly string[]): Promise<{ ms: number; cpu: number }> {
  const from = performance.now();
  const child = spawn(command, args, {
    env: { PATH: process.env["PATH"] ?? "", [MAGIC_COOKIE_KEY]: MAGIC_COOKIE_VALUE, PLUGIN_PROTOCOL_VERSIONS: "2" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    await new Promise((resolve, reject) => {
      child.stdout.once("data", resolve);
      child.once("exit", (code) => reject(new Error(`${command} ended with ${code}`)));
    });
    return { ms: performance.now() - from, cpu: cpuMs(child.pid as number) };
  } finally {
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
  }
}

async function handshakes(): Promise<void> {
  const hello: number[] = [];
  const bare: number[] = [];
  const cpu: number[] = [];
  // in turns, so that the noise of the machine meets both
  for (let start = 0; start < STARTS; start++) {
    const one = await firstLine(HELLO, []);
    hello.push(one.ms);
    cpu.push(one.cpu);
    const other = await firstLine(process.execPath, ["-e", 'console.log("x"); setTimeout(() => {}, 1e6)']);
    bare.push(other.ms);
  }
  const peer = `a bare node ${process.versions.node} that prints a line`;
  row({
    name: "handshake line, median",
    value: median(hello),
    unit: "ms",
    goal: "≤ 150 ms",
    peer,
    theirs: median(bare),
  });
  row({ name: "CPU until the handshake line, median", value: median(cpu), unit: "ms", goal: "" });
}

function taskConfig(folder: string, driverConfig: Uint8Array): TaskConfig {
  const allocId = randomBytes(16).toString("hex");
  const allocDir = join(folder, allocId);
  mkdirSync(join(allocDir, "t", "local"), { recursive: true });
  return {
    id: `${allocId}/t/${randomBytes(4).toString("hex")}`,
    name: "t",
    jobId: "j",
    jobName: "j",
    taskGroupName: "g",
    allocId,
    namespace: "default",
    nodeId: "",
    nodeName: "",
    parentJobId: "",
    msgpackDriverConfig: driverConfig,
    env: { PATH: "/usr/bin:/bin" },
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir,
    stdoutPath: "/dev/null",
    stderrPath: "/dev/null",
  };
}

async function startAll(plugin: HostedDriver, folder: string, count: number, config: object): Promise<string[]> {
  const bytes = encodeConfig(await plugin.taskConfigSchema(), config);
  const configs = Array.from({ length: count }, () => taskConfig(folder, bytes));
  await Promise.all(configs.map((one) => plugin.startTask(one)));
  return configs.map(({ id }) => id);
}

async function statistics(folder: string): Promise<void> {
  const loader = import.meta.resolve("tsx");
  const file = fileURLToPath(new URL("stats-plugin.ts", import.meta.url));
  const args = ["--import", loader, "--conditions=@outrider/source", file];
  const plugin = await launchPlugin({ command: process.execPath, args });
  try {
    await plugin.setConfig(new Uint8Array());
    const pid = plugin.pid as number;
    const stop = new AbortController();
    let received = 0;
    const read = async (id: string): Promise<void> => {
      for await (const _ of plugin.taskStats(id, 1000 / PER_STREAM, stop.signal)) received++;
    };
    const reading = (await startAll(plugin, folder, STREAMS, {})).map((id) => read(id).catch(() => undefined));
    await wait(3_000);
    const [count, cpu, from] = [received, cpuMs(pid), performance.now()];
    await wait(SECONDS * 1000);
    const seconds = (performance.now() - from) / 1000;
    const perSecond = (received - count) / seconds;
    const microseconds = ((cpuMs(pid) - cpu) * 1000) / (received - count);
    stop.abort();
    await Promise.all(reading);
    row({ name: "samples a second over 100 streams", value: perSecond, unit: "/s", goal: "≥ 9,900" });
    // a microsecond a sample is a percent of a core at 10,000 a second
    row({
      name: "CPU of the plugin process at 10,000 samples a second",
      value: microseconds,
      unit: "% of a core",
      goal: "≤ 30 %",
    });
  } finally {
    await plugin.stop();
  }
}

async function memory(folder: string): Promise<void> {
  const plugin = await launchPlugin({ command: HELLO });
  const stop = new AbortController();
  try {
    await plugin.setConfig(new Uint8Array());
    const ids = await startAll(plugin, folder, TASKS, { name: "world", every: 1 });
    const reading = ids.map(async (id) => {
      for await (const _ of plugin.taskStats(id, 1_000, stop.signal));
    });
    const read = Promise.allSettled(reading);
    await wait(5_000);
    row({ name: "plugin with 20 tasks, RSS", value: rssMb(plugin.pid as number), unit: "MB", goal: "≤ 70 MB" });
    stop.abort();
    await read;
    await Promise.all(ids.map((id) => plugin.destroyTask(id, true)));
  } finally {
    stop.abort();
    await plugin.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), "outrider-plugin-bench-"));
try {
  await statistics(folder);
  if (existsSync(HELLO)) {
    await handshakes();
    await memory(folder);
  } else console.error("examples/driver-hello/dist is missing: build first to measure a bundled plugin");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
