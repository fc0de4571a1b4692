// One sample of 500 processes by the sampler and by pidusage (procfs), CPU of this process; and one sample of a real cgroup.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
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
const SAMPLES = 60;
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

/** CPU per sample of a stream, ms; the last sample comes with it. */
async function measure(target: SampleTarget, options: SamplerOptions): Promise<[ms: number, last: TaskUsage]> {
  using sampler = createSampler(options);
  let count = 0;
  let last: TaskUsage | undefined;
  const stop = await sampler.source(target).subscribe(
    {
      next: (usage) => {
        count++;
        last = usage;
      },
      end: (reason) => {
        throw new Error("the stream ended", { cause: reason });
      },
    },
    50,
  );
  while (count < 10) await wait(10);
  const from = count;
  const cpu = process.cpuUsage();
  while (count < from + SAMPLES) await wait(50);
  const used = process.cpuUsage(cpu);
  stop();
  return [(used.user + used.system) / 1000 / (count - from), last!];
}

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
  // The list of processes is made anew for each sample, as at the default of one sample a second.
  const [ours, last] = await measure({ id: "bench", pid: parent.pid! }, { listInterval: 0, pidInterval: 0 });
  const pids = Object.keys(last.Pids);
  if (pids.length !== PROCESSES) throw new Error(`${pids.length} processes were sampled`);
  const [totals] = await measure({ id: "bench", pid: parent.pid! }, { listInterval: 0, pidInterval: Infinity });

  for (let i = 0; i < 10; i++) await pidusage(pids);
  const cpu = process.cpuUsage();
  for (let i = 0; i < SAMPLES; i++) {
    if (Object.keys(await pidusage(pids)).length !== PROCESSES) throw new Error("pidusage lost processes");
    await wait(50);
  }
  const used = process.cpuUsage(cpu);
  const theirs = (used.user + used.system) / 1000 / SAMPLES;
  row(`${PROCESSES} processes, totals`, totals, "pidusage 4.1.0", theirs, "≤ 0.5×");
  row(`${PROCESSES} processes, totals and each process`, ours, "pidusage 4.1.0", theirs, "≤ 0.5×");

  try {
    for (const root of Object.values(layout.roots) as string[]) accessSync(`${root}/cgroup.procs`, constants.W_OK);
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/cgroup.procs`, String(parent.pid));
      for (const pid of pids) writeFileSync(`${folder}/cgroup.procs`, pid);
    }
  } catch (error) {
    process.stderr.write(`no cgroup row: cgroups are not writable here (${(error as Error).message})\n`);
    folders.length = 0;
  }
  if (folders.length > 0) {
    const listed = readFileSync(`${folders[0]}/cgroup.procs`, "latin1").trim().split("\n").length;
    if (listed !== PROCESSES) throw new Error(`${listed} processes in the cgroup`);
    const [cgroup] = await measure({ id: "bench", cgroup: dirs }, { pidInterval: Infinity });
    row(`a ${layout.mode} cgroup of ${PROCESSES} processes, totals`, cgroup, null, null, "≤ 0.15 ms");
  }
} finally {
  process.kill(-parent.pid!, "SIGKILL");
  await wait(500);
  for (const folder of folders) rmdirSync(folder);
}
