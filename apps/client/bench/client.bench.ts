/**
 * The client beside a stock Nomad agent in one run: NOMAD_BIN names its binary. Without one our figures stand alone.
 * Needs a build (npm run build) and root or a user that may run tasks.
 */
import { commandOf, cpuMsOf, processesOf, pssMb } from "./processes.ts";
import { startNomad, startOutrider, type Subject } from "./subject.ts";

interface Alloc {
  ID: string;
  ClientStatus: string;
  TaskStates: Record<string, { Events: { Type: string; Time: number }[] }> | null;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (list: readonly number[], p: number): number =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.ceil((p / 100) * list.length) - 1)] as number;

const job = (id: string, type: "batch" | "service", count: number, args: readonly string[]): object => ({
  Job: {
    ID: id,
    Name: id,
    Type: type,
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: count,
        EphemeralDisk: { SizeMB: 10 },
        RestartPolicy: { Attempts: 0, Interval: 60e9, Delay: 1e9, Mode: "fail" },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: args[0], args: args.slice(1) },
            Resources: { CPU: 1, MemoryMB: 10 },
            LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
          },
        ],
      },
    ],
  },
});

async function until(s: Subject, id: string, count: number, status: string, limitMs: number): Promise<Alloc[]> {
  const over = Date.now() + limitMs;
  for (;;) {
    const allocs = await s.call<Alloc[]>("GET", `/v1/job/${id}/allocations`);
    if (allocs.filter((a) => a.ClientStatus === status).length >= count) return allocs;
    if (Date.now() > over)
      throw new Error(
        `${s.name}: ${allocs.filter((a) => a.ClientStatus === status).length} of ${count} are ${status} after ${limitMs} ms`,
      );
    await pause(100);
  }
}

interface Starts {
  readonly startP50: number;
  readonly startP99: number;
}

interface Figures extends Starts {
  readonly perTaskMb: number;
  readonly ownMb: number;
  readonly livesMs: number;
  readonly lifeCpuMs: number;
}

async function startFifty(s: Subject): Promise<Starts> {
  await s.call("PUT", "/v1/jobs", job("idle", "service", 50, ["/bin/sleep", "86400"]));
  const allocs = await until(s, "idle", 50, "running", 120_000);
  const starts = allocs.flatMap((a) =>
    Object.values(a.TaskStates ?? {}).map(({ Events: e }) => {
      const at = (type: string): number => e.find((x) => x.Type === type)?.Time ?? Number.NaN;
      return (at("Started") - at("Received")) / 1e6;
    }),
  );
  return { startP50: percentile(starts, 50), startP99: percentile(starts, 99) };
}

async function endFifty(s: Subject): Promise<void> {
  await s.call("DELETE", "/v1/job/idle?purge=true");
  await until(s, "idle", 50, "complete", 60_000).catch(() => undefined);
  await pause(3000);
}

function memoryOf(s: Subject): Pick<Figures, "perTaskMb" | "ownMb"> {
  const isTask = (pid: number): boolean => commandOf(pid).startsWith("/bin/sleep");
  const own = processesOf(s.word).filter((p) => !isTask(p.pid));
  // The agent and, with us, the driver process: everything else that is not a task belongs to one of the fifty.
  const core = own.filter(
    (p) =>
      /(^|\/)(node|nomad)$/.test(commandOf(p.pid).split(" ")[0] ?? "") && !/ (executor|logmon) /.test(commandOf(p.pid)),
  );
  const helpers = own.filter((p) => !core.includes(p));
  return {
    ownMb: core.reduce((sum, p) => sum + pssMb(p.pid), 0),
    perTaskMb: helpers.reduce((sum, p) => sum + pssMb(p.pid), 0) / 50,
  };
}

async function livesOf(s: Subject): Promise<Pick<Figures, "livesMs" | "lifeCpuMs">> {
  const cpuBefore = cpuMsOf(processesOf(s.word));
  const from = performance.now();
  for (let i = 0; i < 10; i++) await s.call("PUT", "/v1/jobs", job(`true-${i}`, "batch", 50, ["/bin/true"]));
  for (let i = 0; i < 10; i++) await until(s, `true-${i}`, 50, "complete", 300_000);
  return { livesMs: performance.now() - from, lifeCpuMs: (cpuMsOf(processesOf(s.word)) - cpuBefore) / 500 };
}

async function startsOf(starting: Promise<Subject>): Promise<Starts> {
  await using subject = await starting;
  const starts = await startFifty(subject);
  await endFifty(subject);
  return starts;
}

async function allOf(starting: Promise<Subject>): Promise<Figures> {
  await using subject = await starting;
  const starts = await startFifty(subject);
  await pause(5000);
  const memory = memoryOf(subject);
  await endFifty(subject);
  return { ...starts, ...memory, ...(await livesOf(subject)) };
}

/** A burst is over in a moment, and machines have good and bad ones: each subject has three, by turns and fresh each time. */
const ROUNDS = 3;

const nomad = process.env["NOMAD_BIN"];
const rounds: { ours: Starts; theirs?: Starts }[] = [];
for (let round = 1; round < ROUNDS; round++) {
  rounds.push({
    ours: await startsOf(startOutrider(14_900)),
    ...(nomad === undefined ? {} : { theirs: await startsOf(startNomad(nomad, 14_910)) }),
  });
}
const lastOurs = await allOf(startOutrider(14_900));
const lastTheirs = nomad === undefined ? undefined : await allOf(startNomad(nomad, 14_910));
const median = (key: keyof Starts, of: (Starts | undefined)[]): number =>
  percentile(
    of.flatMap((starts) => (starts === undefined ? [] : [starts[key]])),
    50,
  );
const withMedians = (last: Figures, of: (Starts | undefined)[]): Figures => ({
  ...last,
  startP50: median("startP50", [...of, last]),
  startP99: median("startP99", [...of, last]),
});
const ours = withMedians(
  lastOurs,
  rounds.map((round) => round.ours),
);
const theirs =
  lastTheirs &&
  withMedians(
    lastTheirs,
    rounds.map((round) => round.theirs),
  );
console.error(JSON.stringify({ rounds: [...rounds, { ours: lastOurs, theirs: lastTheirs }] }));

const row = (name: string, key: keyof Figures, unit: string, goal: string): void => {
  const peer = theirs?.[key];
  console.log(
    JSON.stringify({
      package: "client",
      case: name,
      ours: ours[key],
      peer: theirs === undefined ? null : "stock Nomad 2.0.5, raw_exec",
      theirs: peer ?? null,
      unit,
      ratio: peer === undefined ? null : ours[key] / peer,
      goal,
    }),
  );
};
row("50 tasks at once, received → started, p50 (median of 3)", "startP50", "ms", "");
row("50 tasks at once, received → started, p99 (median of 3)", "startP99", "ms", "≤ 0.2×");
row("500 lives of /bin/true, wall time", "livesMs", "ms", "≤ 0.15×");
row("500 lives of /bin/true, CPU a life", "lifeCpuMs", "ms", "≤ 0.15×");
row("memory per running task beyond the task, PSS", "perTaskMb", "MB", "≤ 0.3 MB");
row("agent (and driver process) with 50 tasks, PSS", "ownMb", "MB", "≤ 130 MB");
