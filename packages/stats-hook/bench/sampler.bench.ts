// One sample of 500 processes by the sampler and by pidusage (procfs), CPU of this process; and one sample of a real cgroup.
import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import pidusage from "pidusage";
import {
  cgroupDirs,
  createSampler,
  detectCgroups,
  type SampleTarget,
  type SamplerOptions,
  type TaskUsage,
} from "../src/sampler/index.ts";

const PROCESSES = 500;
const SAMPLES = 30;
const ROUNDS = 3;
const row = (name: string, ours: number, peer: string | null, theirs: number | null, goal: string) =>
  console.log(
    JSON.stringify({
      package: "stats-hook",
      case: name,
      ours,
      peer,
      theirs,
      unit: "ms CPU/sample",
      ratio: theirs === null ? null : ours / theirs,
      goal,
    }),
  );

/** CPU per sample, ms, of so many equal streams; the last sample comes with it. */
async function measure(
  target: SampleTarget,
  options: SamplerOptions,
  streams = 1,
): Promise<[ms: number, last: TaskUsage]> {
  using sampler = createSampler(options);
  let count = 0;
  let last: TaskUsage | undefined;
  let wanted = 10;
  let reached: (() => void) | undefined;
  const until = (samples: number) =>
    new Promise<void>((resolve) => {
      wanted = samples;
      reached = resolve;
    });
  const sink = {
    next: (usage: TaskUsage) => {
      last = usage;
      if (++count === wanted) reached?.();
    },
    end: (reason: unknown) => {
      // Only the disposal may end it.
      if (count < (10 + SAMPLES) * streams) throw new Error("the stream ended", { cause: reason });
    },
  };
  for (let i = 0; i < streams; i++) await sampler.source({ ...target, id: `${target.id}-${i}` }).subscribe(sink, 50);
  await until(10 * streams);
  const cpu = process.cpuUsage();
  await until((10 + SAMPLES) * streams);
  const used = process.cpuUsage(cpu);
  return [(used.user + used.system) / 1000 / (SAMPLES * streams), last!];
}

/** CPU per wake-up of a timer that does nothing, ms. */
async function wakeUp(): Promise<number> {
  for (let i = 0; i < 10; i++) await wait(50);
  const cpu = process.cpuUsage();
  for (let i = 0; i < SAMPLES; i++) await wait(50);
  const used = process.cpuUsage(cpu);
  return (used.user + used.system) / 1000 / SAMPLES;
}

async function measurePidusage(pids: readonly string[]): Promise<number> {
  for (let i = 0; i < 10; i++) await pidusage([...pids]);
  const cpu = process.cpuUsage();
  for (let i = 0; i < SAMPLES; i++) {
    if (Object.keys(await pidusage([...pids])).length !== PROCESSES) throw new Error("pidusage lost processes");
    await wait(50);
  }
  const used = process.cpuUsage(cpu);
  return (used.user + used.system) / 1000 / SAMPLES;
}
const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

const parent = spawn(
  "sh",
  ["-c", `i=1; while [ $i -lt ${PROCESSES} ]; do sleep 600 & i=$((i+1)); done; echo ready; wait`],
  { detached: true, stdio: ["ignore", "pipe", "inherit"] },
);
const layout = detectCgroups();
const dirs = cgroupDirs(layout, `/outrider-bench-${process.pid}`);
const folders = Object.values(dirs) as string[];
try {
  await new Promise((resolve) => parent.stdout.once("data", resolve));
  const target = { id: "bench", pid: parent.pid! };
  const [, first] = await measure(target, { pidInterval: 0 });
  const pids = Object.keys(first.Pids);
  if (pids.length !== PROCESSES) throw new Error(`${pids.length} processes were sampled`);
  // In turns, so that the noise of the machine meets all. The list of processes is made anew for each sample, as at the default of one a second.
  const each: number[] = [];
  const totals: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    each.push((await measure(target, { listInterval: 0, pidInterval: 0 }))[0]);
    totals.push((await measure(target, { listInterval: 0, pidInterval: Infinity }))[0]);
    theirs.push(await measurePidusage(pids));
  }
  row(`${PROCESSES} processes, totals`, median(totals), "pidusage 4.1.0", median(theirs), "≤ 0.5×");
  row(`${PROCESSES} processes, totals and each process`, median(each), "pidusage 4.1.0", median(theirs), "≤ 0.5×");

  try {
    for (const root of Object.values(layout.roots) as string[]) accessSync(`${root}/cgroup.procs`, constants.W_OK);
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/cgroup.procs`, String(parent.pid));
      for (const pid of pids) writeFileSync(`${folder}/cgroup.procs`, String(pid));
    }
  } catch (error) {
    process.stderr.write(`no cgroup row: cgroups are not writable here (${(error as Error).message})\n`);
    folders.length = 0;
  }
  if (folders.length > 0) {
    const listed = readFileSync(`${folders[0]}/cgroup.procs`, "latin1").trim().split("\n").length;
    if (listed !== PROCESSES) throw new Error(`${listed} processes in the cgroup`);
    // A lone task pays for waking the process up, which a timer that does nothing pays as well, and finds cold caches: the goal is for tasks
    // among others.
    const idle: number[] = [];
    const one: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      idle.push(await wakeUp());
      one.push((await measure({ id: "bench", cgroup: dirs }, { pidInterval: Infinity }))[0]);
    }
    const [many] = await measure({ id: "bench", cgroup: dirs }, { pidInterval: Infinity }, 100);
    const what = `a ${layout.mode} cgroup of ${PROCESSES} processes`;
    row(`${what}, one of 100 tasks`, many, null, null, "≤ 0.15 ms");
    row(`${what}, a lone task`, median(one), "a timer that does nothing", median(idle), "");
    row(`${what}, a lone task without its wake-up`, median(one) - median(idle), null, null, "");
  }
} finally {
  process.kill(-parent.pid!, "SIGKILL");
  await wait(500);
  for (const folder of folders) if (existsSync(folder)) rmdirSync(folder);
}
