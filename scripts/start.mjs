// npm start: builds what the client needs, starts the agent with its embedded server on a data folder inside the checkout,
// submits the samples, says what runs and what to try next. Ctrl-C ends the samples and the agent; other jobs stay.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.platform !== "linux") {
  console.error(`The Outrider client runs on Linux only; this is ${process.platform}. The packages of this workspace run everywhere: npm test.`);
  process.exit(1);
}
const args = process.argv.slice(2);
const flag = (name, variable, fallback) => {
  const at = args.findIndex((a) => a === `-${name}` || a === `--${name}` || a.startsWith(`-${name}=`) || a.startsWith(`--${name}=`));
  if (at < 0) return process.env[variable] || fallback;
  return args[at].includes("=") ? args[at].slice(args[at].indexOf("=") + 1) : (args[at + 1] ?? "");
};
if (args.some((a) => ["-h", "-help", "--help"].includes(a))) {
  console.log(`Usage: npm start -- [options]

  -port <n>         Port of the HTTP API (OUTRIDER_HTTP_PORT, default 4646)
  -bind <address>   Address to listen on (OUTRIDER_BIND, default 127.0.0.1)
  -data-dir <path>  Where state and allocations are kept (OUTRIDER_DATA_DIR, default .outrider in the checkout)

Other options go to \`outrider agent\`.`);
  process.exit(0);
}
const dataDir = flag("data-dir", "OUTRIDER_DATA_DIR", join(root, ".outrider"));
const port = flag("port", "OUTRIDER_HTTP_PORT", "4646");
const bind = flag("bind", "OUTRIDER_BIND", "127.0.0.1");

const main = join(root, "apps/client/dist/main.js");
const built = spawnSync(process.execPath, [join(root, "node_modules/turbo/bin/turbo"), "run", "build", "--filter=outrider...", "--output-logs=errors-only", "--no-update-notifier"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  env: { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}`, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" },
});
if (built.status !== 0 || !existsSync(main)) {
  console.error("The build failed; the lines above say why.");
  process.exit(1);
}
mkdirSync(dataDir, { recursive: true, mode: 0o700 });

// Nothing of the user's shell may send the samples to another agent.
const env = { ...process.env };
for (const name of Object.keys(env)) if (name.startsWith("NOMAD_")) delete env[name];

const own = ["port", "bind", "data-dir"];
const rest = [];
for (let i = 0; i < args.length; i++) {
  const name = args[i].replace(/^--?/, "").split("=")[0];
  if (own.includes(name)) i += args[i].includes("=") ? 0 : 1;
  else rest.push(args[i]);
}
const agent = spawn(process.execPath, [main, "agent", "-data-dir", dataDir, "-port", port, "-bind", bind, "-samples", join(root, "examples/jobs"), ...rest], {
  cwd: root,
  env,
  stdio: "inherit",
});
// The terminal sends Ctrl-C to both: the agent ends the samples and itself, and this process follows it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => signal !== "SIGINT" && agent.kill(signal));
agent.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
