// npm start: builds what the client needs, starts the agent with its embedded server on a data folder inside the checkout,
// submits the samples, says what runs and what to try next. Ctrl-C ends the samples and the agent; other jobs stay.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.platform !== "linux") {
  console.error(
    `The Outrider client runs on Linux only; this is ${process.platform}. The packages of this workspace run everywhere: npm test.`,
  );
  process.exit(1);
}
const args = process.argv.slice(2);
if (args.some((a) => /^--?h(elp)?$/.test(a))) {
  console.log(`Usage: npm start -- [options]

  -port <n>           Port of the HTTP API (OUTRIDER_HTTP_PORT, default 4646)
  -bind <address>     Address to listen on (OUTRIDER_HTTP_BIND, default 127.0.0.1)
  -data-dir <path>    Where state and allocations are kept (OUTRIDER_DATA_DIR, default .outrider in the checkout)
  -no-samples         Start the agent alone

Other options go to \`outrider agent\`; \`npm run outrider -- agent -help\` shows them.`);
  process.exit(0);
}
const has = (name) => args.some((a) => new RegExp(`^--?${name}(=|$)`).test(a));
/** The value of an option, given as the next word or after an equals sign; the last one counts. */
function valueOf(name) {
  let value;
  for (const [i, arg] of args.entries()) {
    const [, inline] = new RegExp(`^--?${name}(?:=(.*))?$`, "s").exec(arg) ?? [null];
    if (new RegExp(`^--?${name}(=|$)`).test(arg)) value = inline ?? args[i + 1];
  }
  return value;
}
const samples = !has("no-samples");
const rest = args.filter((a) => !/^--?no-samples$/.test(a));

const main = join(root, "apps/client/dist/main.js");
if (!existsSync(main)) console.error("Building …");
const built = spawnSync(
  join(root, "node_modules/.bin/turbo"),
  ["run", "build:js", "--filter=outrider...", "--output-logs=errors-only", "--no-update-notifier"],
  {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${root}node_modules/.bin:${process.env.PATH}`,
      TURBO_TELEMETRY_DISABLED: "1",
      DO_NOT_TRACK: "1",
    },
  },
);
if (built.status !== 0 || !existsSync(main)) {
  console.error(`${built.stdout ?? ""}\nThe build failed; the lines above say why.`);
  process.exit(1);
}

// Nothing of the user's shell may send the samples to another agent, or into another namespace; and what npm adds to the environment of its
// scripts is no business of the tasks, which inherit the agent's.
const OF_NPM = new Set(["COLOR", "INIT_CWD", "NODE"]);
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(NOMAD_|npm_)/i.test(name) && !OF_NPM.has(name)),
);
env.PATH = (env.PATH ?? "")
  .split(":")
  .filter((folder) => !/\/node_modules\/\.bin$|\/node-gyp-bin$/.test(folder))
  .join(":");
const dataDir = resolve(valueOf("data-dir") || process.env.OUTRIDER_DATA_DIR || join(root, ".outrider"));
mkdirSync(dataDir, { recursive: true, mode: 0o700 });
const logFile = join(dataDir, "agent.log");
const log = openSync(logFile, "a", 0o600);

// A session of its own: Ctrl-C reaches this process only, which ends the samples before it ends the agent.
// The channel tells the agent when this process dies.
const agent = spawn(process.execPath, [main, "agent", "-data-dir", dataDir, ...rest], {
  cwd: process.cwd(),
  env,
  detached: true,
  stdio: ["ignore", log, log, "ipc"],
});
let how = "";
const gone = new Promise((resolve) =>
  agent.on("exit", (code, signal) => {
    how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    resolve(code ?? 1);
  }),
);
const ready = new Promise((resolve) => agent.on("message", (m) => m?.type === "ready" && resolve(m)));
let stopping = false;

const first = await Promise.race([ready, gone]);
if (typeof first === "number") {
  const lines = readFileSync(logFile, "utf8").trimEnd().split("\n");
  console.error(lines.slice(-5).join("\n"));
  console.error(`\nThe agent did not start; it ended ${how}. Its log: ${logFile}`);
  process.exit(first || 1);
}

const { address } = first;
const target = address.startsWith("unix://")
  ? { socketPath: address.slice(7) }
  : { host: new URL(address).hostname.replace(/^\[|\]$/g, ""), port: new URL(address).port };

const token = valueOf("token") || process.env.OUTRIDER_HTTP_TOKEN;

/** Talks to our own agent and to no other. */
function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const r = request(
      {
        ...target,
        method,
        path,
        headers: {
          "content-type": "application/json",
          ...(token ? { "x-nomad-token": token } : {}),
        },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (c) => (text += c));
        answer.on("end", () =>
          answer.statusCode === 200
            ? resolve(JSON.parse(text))
            : reject(
                Object.assign(new Error(`${method} ${path}: ${answer.statusCode} ${text}`), {
                  status: answer.statusCode,
                }),
              ),
        );
      },
    );
    r.on("error", reject);
    r.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The window of the sample: from the next full minute, two minutes long, in UTC; past midnight it starts there. */
function window(now) {
  const start = new Date(Math.ceil((now + 1) / 60_000) * 60_000);
  const end = new Date(start.getTime() + 120_000);
  if (end.getUTCDate() !== start.getUTCDate()) {
    start.setTime(Date.UTC(end.getUTCFullYear(), end.getUTCMonth(), end.getUTCDate()));
    end.setTime(start.getTime() + 120_000);
  }
  return { start, end };
}

const option =
  address === "http://127.0.0.1:4646"
    ? []
    : [/^[\w:/.[\]-]+$/.test(address) ? `-address=${address}` : `-address='${address}'`];
/** A command for the user to type; options go before arguments. */
const hand = (command, ...args) => ["npm run --silent outrider --", command, ...option, ...args].join(" ");
const hhmm = (date) => date.toISOString().slice(11, 16);
const api = address.startsWith("unix:") ? address : `${address}/v1/`;
console.log(`Outrider is running. API: ${api}   Log: ${logFile}`);
if (token) console.log("Commands need its token: export NOMAD_TOKEN=…");

const files = ["hello.nomad.hcl", "hello-batch.nomad.hcl"];
const ids = files.map((f) => f.replace(".nomad.hcl", ""));
if (samples) {
  const { start, end } = window(Date.now());
  for (const file of files) {
    const vars =
      file === "hello.nomad.hcl"
        ? [
            "-var",
            `window_start=${start.getUTCMinutes()} ${start.getUTCHours()} * * * *`,
            "-var",
            `window_end=${end.getUTCMinutes()} ${end.getUTCHours()}`,
          ]
        : [];
    const done = spawnSync(
      process.execPath,
      [main, "job", "run", "-detach", `-address=${address}`, ...vars, join(root, "examples/jobs", file)],
      { env: { ...env, ...(token ? { NOMAD_TOKEN: token } : {}) }, encoding: "utf8" },
    );
    if (done.status !== 0) console.error(`sample ${file}: ${done.stderr}`);
  }
  console.log(`
Samples: hello        web (an HTTP server), flaky (fails twice, then stays), windowed (runs from ${hhmm(start)} to ${hhmm(end)} UTC)
         hello-batch  runs once and ends

Try: ${hand("job status", "hello")}
     ${hand("alloc logs", "-f", "-task", "flaky", "-job", "hello")}
     ${hand("job run", "<your file>")}     your jobs outlive this agent

Ctrl-C ends the samples and the agent.`);
}

async function stop(signal) {
  if (stopping) return agent.kill("SIGTERM");
  stopping = true;
  if (samples) {
    console.log("\nEnding the samples …");
    // A sample that the user has removed already is no failure.
    for (const id of ids)
      await call("DELETE", `/v1/job/${id}`).catch((error) => error.status === 404 || console.error(error.message));
    const over = Date.now() + 15_000;
    for (const id of ids) {
      while (Date.now() < over) {
        const allocs = await call("GET", `/v1/job/${id}/allocations`).catch(() => []);
        if (allocs.every((a) => ["complete", "failed", "lost"].includes(a.ClientStatus))) break;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    const jobs = await call("GET", "/v1/jobs").catch(() => []);
    const left = jobs.filter((job) => job.Status === "running" && !ids.includes(job.ID)).map((job) => job.ID);
    if (left.length > 0) console.log(`Still running, and found again at the next start: ${left.join(", ")}`);
  }
  agent.kill(signal);
}
process.on("SIGINT", () => void stop("SIGINT"));
process.on("SIGTERM", () => void stop("SIGTERM"));
process.on("SIGHUP", () => void stop("SIGTERM"));
const code = await gone;
if (!stopping) console.error(`The agent ended ${how}; tasks go on. Its log: ${logFile}`);
process.exit(code);
