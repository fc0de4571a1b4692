#!/usr/bin/env node
// Kills the agent, the driver process or both with SIGKILL, at random moments, again and again, while tasks of many kinds run; then counts what
// must never happen: orphans, doubles, lost exit codes, lost bytes of logs, signals to processes of others. Needs a build (npm run build).
//
//   node apps/client/scripts/kill-rounds.mjs [--rounds 50] [--tasks 50] [--seed 1] [--pid-max 0] [--keep] [--verbose] [--main dist/main.js]
//
// --pid-max N runs everything in a pid namespace in which numbers are used again soon (root only; 0 = off).
// Exit code 0 when all five numbers are 0.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { setInterval, setTimeout } from "node:timers";
import { parseArgs } from "node:util";

const { values: o } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    tasks: { type: "string", default: "50" },
    seed: { type: "string", default: String(process.pid) },
    "pid-max": { type: "string", default: "0" },
    keep: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    main: { type: "string" },
    inside: { type: "boolean", default: false },
  },
});
const [rounds, wanted, seed, pidMax] = [o.rounds, o.tasks, o.seed, o["pid-max"]].map(Number);
const built = o.main === undefined ? fileURLToPath(new URL("../dist", import.meta.url)) : dirname(resolve(o.main));
if (!existsSync(join(built, "main.js"))) {
  console.error(`kill-rounds: ${built}/main.js is missing; build first (npm run build)`);
  process.exit(2);
}
if (pidMax > 0 && !o.inside) {
  const again = [
    "--pid",
    "--fork",
    "--mount-proc",
    process.execPath,
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
    "--inside",
  ];
  process.exit(spawnSync("unshare", again, { stdio: "inherit" }).status ?? 1);
}
if (pidMax > 0) writeFileSync("/proc/sys/kernel/pid_max", String(pidMax));

/** The same rounds for the same seed, as far as the machine's own timing allows. */
let state = seed >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const between = (low, high) => low + random() * (high - low);
const oneOf = (list) => list[Math.floor(random() * list.length)];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (text) => o.verbose && console.error(`${new Date().toISOString().slice(11, 23)} ${text}`);

// a copy, so that a build meanwhile changes nothing; where its dependencies are found, too
const copy = fileURLToPath(new URL(`../node_modules/.cache/kill-rounds-${process.pid}`, import.meta.url));
cpSync(built, join(copy, "dist"), { recursive: true });
cpSync(fileURLToPath(new URL("../package.json", import.meta.url)), join(copy, "package.json"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
const MAIN = join(copy, "dist", "main.js");

const root = realpathSync(mkdtempSync(join(tmpdir(), "outrider-kill-rounds-")));
const data = join(root, "data");
const notes = join(root, "notes");
mkdirSync(notes);

// ---- what is counted
const count = { orphans: 0, doubles: 0, lostExitCodes: 0, lostLogBytes: 0, foreignSignalled: 0 };
const kills = { agent: 0, driver: 0, both: 0, "driver twice": 0 };
const told = [];
function fault(kind, text, by = 1) {
  count[kind] += by;
  told.push(`${kind}: ${text}`);
  say(`FAULT ${kind}: ${text}`);
}

// ---- the agent
let agent;
let leaving = false;
let address;
function startAgent() {
  address = undefined;
  const env = Object.fromEntries(
    ["PATH", "HOME", "LANG"].flatMap((n) => (process.env[n] ? [[n, process.env[n]]] : [])),
  );
  const child = spawn(process.execPath, [MAIN, "agent", "-data-dir", data, "-port", "0", "-log-level", "info"], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  agent = child;
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
    const url = / at (http:\S+), data in /.exec(text)?.[1];
    if (url !== undefined && agent === child) address = new URL(url);
  });
  child.stderr.on("data", (chunk) => appendFileSync(join(root, "agent.log"), chunk));
  child.on("exit", (code, signal) => {
    if (leaving) return;
    if (signal !== "SIGKILL") {
      console.error(
        `kill-rounds: the agent ended by itself (${code ?? signal}); ${readFileSync(join(root, "agent.log"), "utf8").slice(-2000)}`,
      );
      process.exit(2);
    }
    startAgent();
  });
}

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    if (address === undefined) return reject(new Error("no agent"));
    const r = request(
      { host: address.hostname, port: address.port, method, path, agent: false, timeout: 10_000 },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        answer.on("error", reject);
        answer.on("end", () =>
          answer.statusCode === 200
            ? resolve(text === "" ? undefined : JSON.parse(text))
            : reject(
                Object.assign(new Error(`${method} ${path}: ${answer.statusCode} ${text}`), {
                  status: answer.statusCode,
                }),
              ),
        );
      },
    );
    r.on("timeout", () => r.destroy(new Error("no answer")));
    r.on("error", reject);
    r.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
/** Until an agent lives long enough to answer. */
async function insist(method, path, body) {
  for (;;) {
    try {
      return await call(method, path, body);
    } catch (error) {
      if (error.status !== undefined) throw error;
      await sleep(30);
    }
  }
}

// ---- processes
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0], parent: Number(fields[1]), start: fields[19] };
  } catch {
    return undefined;
  }
}
const alive = (pid, start) => {
  const seen = stat(pid);
  return seen !== undefined && !"ZX".includes(seen.state) && (start === undefined || seen.start === start);
};
function processes(of) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const read = (file) => {
        try {
          return readFileSync(`/proc/${name}/${file}`, "latin1");
        } catch {
          return "";
        }
      };
      const line = read("cmdline");
      const found = of(line, () => read("environ")) && alive(Number(name));
      return found ? [{ pid: Number(name), line: line.replaceAll("\0", " ").slice(0, 120) }] : [];
    });
}
/** Without their children: one that has not begun its own program yet bears the driver's command line. */
const drivers = () => {
  const found = processes((line) => line.includes("driver-main") && line.includes(`\0--data-dir\0${data}\0`));
  return found.filter(({ pid }) => !found.some((other) => other.pid === stat(pid)?.parent));
};
const ours = () =>
  processes(
    (line, environ) =>
      line.includes(root) ||
      environ()
        .split("\0")
        .some((v) => v.startsWith(`NOMAD_ALLOC_DIR=${data}/`)),
  );

// ---- bystanders: they come and go, so that a number that was a task's is theirs soon; any signal that they get is one too many
let bystanders = 0;
function bystander() {
  bystanders += 1;
  const child = spawn("/bin/sleep", [String(between(0.05, 3).toFixed(2))], {
    stdio: "ignore",
    detached: random() < 0.5,
  });
  child.on("exit", (code, signal) => {
    if (code !== 0) fault("foreignSignalled", `a bystander (pid ${child.pid}) ended with ${code ?? signal}`);
  });
}

// ---- tasks
/** Every run writes down who it is, and whether another run of the same task still lives. */
const prologue = (name) => `n='${notes}/${name}'
armed() { : >"$n.armed"; }
me=$(cut -d' ' -f22 /proc/$$/stat)
[ -f "$n" ] && while read -r p s; do [ "$(cut -d' ' -f22 /proc/$p/stat 2>/dev/null)" = "$s" ] && echo "$p $$" >>"$n.doubles"; done <"$n"
echo "$$ $me" >>"$n"
echo "run $$"
`;
const KINDS = {
  zero: { last: "exit 0", exitCode: 0, signal: 0 },
  code: { last: "exit 42", exitCode: 42, signal: 0 },
  "like-a-signal": { last: "exit 137", exitCode: 137, signal: 0 },
  terminated: { last: "kill -TERM $$; sleep 100", exitCode: 143, signal: 15 },
  killed: { last: "kill -KILL $$; sleep 100", exitCode: 137, signal: 9 },
  daemon: { last: "setsid sleep 100000 & exit 7", exitCode: 7, signal: 0 },
  stopped: { last: "trap 'exit 5' INT; armed; while :; do sleep 0.1; done", exitCode: 5, signal: 0, stop: true },
  stubborn: { last: "trap '' INT; armed; while :; do sleep 0.1; done", exitCode: 137, signal: 9, stop: true },
};
const bytes = (n) =>
  `i=0; while [ $i -lt ${n} ]; do seq $((i + 1)) $((i + 50)); i=$((i + 50)); sleep 0.0$((i % 7)); done\n`;
/** How long a task may go on after the last kill: a stop that is cut short by the next kill begins anew. */
const PATIENCE_MS = 120_000;
function job(id, type, script, more = {}) {
  return {
    ID: id,
    Name: id,
    Type: type,
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Count: 1,
        RestartPolicy: { Attempts: 0, Mode: "fail", Interval: 600e9, Delay: 1e9 },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        EphemeralDisk: { SizeMB: 10 },
        Tasks: [
          {
            Name: "t",
            Driver: "raw_exec",
            Config: { command: "/bin/sh", args: ["-c", script] },
            Resources: { CPU: 1, MemoryMB: 10 },
            KillTimeout: 5e9,
            LogConfig: { MaxFiles: 10, MaxFileSizeMB: 1 },
            ...more,
          },
        ],
      },
    ],
  };
}
const live = new Map();
let started = 0;
let going = true;
let lastKill = 0;
async function launch(steady) {
  const kind = oneOf(Object.keys(KINDS));
  const id = steady ? `steady-${live.size}` : `${kind}-${(started += 1)}`;
  const lines = Math.floor(between(1, 40)) * 50;
  const lasts = between(0.5, 20);
  const script = steady
    ? `${prologue(id)}i=0; while :; do seq $((i + 1)) $((i + 50)); i=$((i + 50)); sleep 0.2; done`
    : `${prologue(id)}${bytes(lines)}sleep ${lasts.toFixed(2)}\n${KINDS[kind].last}`;
  const task = {
    id,
    kind,
    steady,
    lines: steady ? undefined : lines,
  };
  live.set(id, task);
  await insist("PUT", "/v1/jobs", { Job: job(id, "batch", script, { KillTimeout: kind === "stubborn" ? 2e9 : 10e9 }) });
}

/** The collected output of a task, with the bytes that are missing or there twice. */
function judgeLog(task, alloc) {
  const folder = join(data, "alloc", alloc.ID, "alloc", "logs");
  const numbers = readdirSync(folder)
    .flatMap((name) => /^t\.stdout\.(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  const text = numbers.map((n) => readFileSync(join(folder, `t.stdout.${n}`), "latin1")).join("");
  const runs = text.split(/^run \d+\n/m).slice(1);
  if (runs.length === 0) return text === "" ? "run 0\n".length : text.length;
  let lost = 0;
  for (const [index, run] of runs.entries()) {
    const found = run.split("\n");
    found.pop();
    found.forEach((line, at) => {
      if (line !== String(at + 1) && lost === 0) lost += Math.max(1, Math.abs((Number(line) || 0) - at - 1) * 5);
    });
    // only the last run of a task goes to its end
    if (index === runs.length - 1 && task.lines !== undefined && lost === 0 && found.length !== task.lines)
      lost += Math.abs(task.lines - found.length) * 5;
  }
  return lost;
}

function judgeEnd(task, alloc) {
  const { exitCode, signal } = KINDS[task.kind];
  const ended = (alloc.TaskStates?.t?.Events ?? []).filter((e) => e.Type === "Terminated").at(-1);
  const seen = ended === undefined ? "no exit" : `exit code ${ended.Details.exit_code}, signal ${ended.Details.signal}`;
  if (seen !== `exit code ${exitCode}, signal ${signal}`)
    fault(
      "lostExitCodes",
      `${task.id}: ${seen}; ${alloc.ClientStatus}: ${(alloc.TaskStates?.t?.Events ?? []).map((e) => `${e.Type} (${e.DisplayMessage})`).join(", ")}`,
    );
}

/** Tasks that a stop ends before they came to their end have not written everything. */
async function look() {
  const list = await call("GET", "/v1/allocations");
  for (const alloc of list) {
    const task = live.get(alloc.JobID);
    if (task === undefined) continue;
    task.seen = `${alloc.DesiredStatus}/${alloc.ClientStatus}${task.stopping ? ", stopped by us" : ""}: ${(alloc.TaskStates?.t?.Events ?? []).map((e) => e.Type).join(", ")}`;
    const over = ["complete", "failed", "lost"].includes(alloc.ClientStatus);
    if (!over) {
      if (
        KINDS[task.kind].stop &&
        !task.steady &&
        !task.stopping &&
        existsSync(join(notes, `${task.id}.armed`)) &&
        alloc.ClientStatus === "running"
      ) {
        if (!readLog(alloc).endsWith(`\n${task.lines}\n`)) continue;
        await call("DELETE", `/v1/job/${task.id}`);
        task.stopping = true;
      }
      continue;
    }
    live.delete(task.id);
    if (task.steady)
      fault("lostExitCodes", `${task.id} ended by itself: ${alloc.ClientStatus} ${JSON.stringify(alloc.TaskStates)}`);
    else judgeEnd(task, alloc);
    const lost = judgeLog(task, alloc);
    if (lost > 0) fault("lostLogBytes", `${task.id} (alloc ${alloc.ID})`, lost);
    judgeRuns(task);
    await insist("DELETE", `/v1/job/${task.id}?purge=true`);
  }
  for (const task of live.values()) {
    if (!task.steady && !going && performance.now() > lastKill + PATIENCE_MS) {
      fault("lostExitCodes", `${task.id}: no end within 120 s after the last kill; ${task.seen}`);
      live.delete(task.id);
    }
  }
}
function readLog(alloc) {
  try {
    return readFileSync(join(data, "alloc", alloc.ID, "alloc", "logs", "t.stdout.0"), "latin1");
  } catch {
    return "";
  }
}
function judgeRuns({ id }) {
  const doubles = join(notes, `${id}.doubles`);
  if (existsSync(doubles)) fault("doubles", `${id}: ${readFileSync(doubles, "utf8").trim()}`);
  const left = readFileSync(join(notes, id), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([pid, start]) => alive(Number(pid), start));
  return left.length;
}

// ---- the rounds
async function strike() {
  const victim = oneOf(["agent", "agent", "driver", "driver", "both", "both", "driver twice"]);
  kills[victim] += 1;
  say(`kill ${victim}`);
  const driver = () => drivers().forEach(({ pid }) => quietly(() => process.kill(pid, "SIGKILL")));
  if (victim === "driver twice") {
    driver();
    await sleep(between(0, 300));
    driver();
    return;
  }
  if (victim === "driver") return driver();
  if (victim === "both" && random() < 0.5) driver();
  agent.kill("SIGKILL");
  if (victim === "both") driver();
}
function quietly(action) {
  try {
    action();
  } catch {
    // gone meanwhile
  }
}

const from = performance.now();
console.log(
  `kill-rounds: ${rounds} rounds, ${wanted} tasks, seed ${seed}${pidMax > 0 ? `, pids up to ${pidMax}` : ""}`,
);
startAgent();
for (let i = 0; i < Math.min(10, wanted / 5); i++) await launch(true);
const churn = setInterval(() => going && bystander(), 40);
const filling = (async () => {
  while (going) {
    if (live.size < wanted) await launch(false);
    else await sleep(50);
  }
})();
const looking = (async () => {
  while (going || [...live.values()].some((task) => !task.steady)) {
    await look().catch((error) => say(`look: ${error.message}`));
    await sleep(250);
  }
})();
for (let round = 1; round <= rounds; round++) {
  // mostly an agent that serves; else whatever it is doing while it starts
  if (random() < 0.7) while (address === undefined) await sleep(10);
  await sleep(random() < 0.2 ? between(0, 100) : between(100, 1500));
  await strike();
  lastKill = performance.now();
  if (round % 25 === 0)
    console.log(
      `${round} rounds, ${started} tasks, ${Math.round((performance.now() - from) / 1000)} s: ${JSON.stringify(count)}`,
    );
}
going = false;
await filling;
await looking;

// the steady ones last: their whole output is there, and nobody has started them again
const list = await insist("GET", "/v1/allocations");
for (const task of live.values()) {
  const alloc = list.find((a) => a.JobID === task.id);
  const lost = alloc === undefined ? 1 : judgeLog(task, alloc);
  if (lost > 0) fault("lostLogBytes", `${task.id} (alloc ${alloc?.ID})`, lost);
  if (judgeRuns(task) !== 1) fault("lostExitCodes", `${task.id}: not exactly one run lives`);
}
for (const { ID } of await insist("GET", "/v1/jobs"))
  await insist("DELETE", `/v1/job/${encodeURIComponent(ID)}?purge=true`);
const patience = performance.now() + 30_000;
const strangers = () => ours().filter(({ pid }) => pid !== agent.pid && !drivers().some((d) => d.pid === pid));
while (strangers().length > 0 && performance.now() < patience) await sleep(100);
leaving = true;
agent.kill("SIGTERM");
await new Promise((resolve) =>
  agent.exitCode === null && agent.signalCode === null ? agent.once("exit", resolve) : resolve(),
);
while (ours().length > 0 && performance.now() < patience) await sleep(100);
for (const { pid, line } of ours()) {
  fault("orphans", `${pid} ${line}`);
  quietly(() => process.kill(pid, "SIGKILL"));
}
clearInterval(churn);
await sleep(3200);

console.log(`
${rounds} rounds in ${Math.round((performance.now() - from) / 1000)} s: ${Object.entries(kills)
  .map(([victim, n]) => `${victim} ${n}`)
  .join(", ")}; ${started} tasks beside the steady ones, ${bystanders} bystanders
orphans                  ${count.orphans}
doubles                  ${count.doubles}
lost exit codes          ${count.lostExitCodes}
lost log bytes           ${count.lostLogBytes}
foreign processes hit    ${count.foreignSignalled}`);
for (const text of told.slice(0, 50)) console.log(`  ${text}`);
const failed = Object.values(count).some((n) => n > 0);
if (failed || o.keep) console.log(`kept: ${root}`);
else {
  quietly(() =>
    execFileSync("sh", ["-c", `umount '${data}'/alloc/*/*/secrets '${data}'/alloc/*/*/private`], { stdio: "ignore" }),
  );
  rmSync(root, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
