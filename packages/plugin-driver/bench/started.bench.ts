// In a stock agent: from the event "Task Setup" to "Started", through the hello driver of examples/ and through Nomad's own raw_exec, in turns.
// NOMAD_BIN names the agent's binary; needs a build (npm run build) and a user that may run tasks.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts, RAW_EXEC, stockAgentConfig } from "@outrider/build-config/stock-agent";

const HELLO = fileURLToPath(new URL("../../../examples/driver-hello/dist/outrider-driver-hello", import.meta.url));
const ROUNDS = 15;
const LIMIT_MS = 60_000;

interface Alloc {
  readonly TaskStates: Record<string, { readonly Events: { readonly Type: string; readonly Time: number }[] }> | null;
}
type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] as number;

async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  for (const over = performance.now() + LIMIT_MS; ;) {
    const value = await probe().catch(() => undefined);
    if (value !== undefined) return value;
    if (performance.now() > over) throw new Error(`within ${LIMIT_MS} ms not seen: ${what}`);
    await wait(100);
  }
}

const job = (id: string, driver: string, config: object): object => ({
  Job: {
    ID: id,
    Name: id,
    Type: "service",
    Datacenters: ["*"],
    TaskGroups: [
      {
        Name: "g",
        Tasks: [{ Name: "t", Driver: driver, Config: config, Resources: { CPU: 1, MemoryMB: 10 } }],
      },
    ],
  },
});

/** One task from its submission to its end; ms between the two events. */
async function setUpToStarted(call: Call, id: string, driver: string, config: object): Promise<number> {
  await call("PUT", "/v1/jobs", job(id, driver, config));
  const events = await until(`start of ${id}`, async () => {
    const [alloc] = await call<Alloc[]>("GET", `/v1/job/${id}/allocations`);
    const all = alloc?.TaskStates?.["t"]?.Events ?? [];
    return all.some(({ Type }) => Type === "Started") ? all : undefined;
  });
  await call("DELETE", `/v1/job/${id}?purge=true`);
  const at = (type: string): number => events.find(({ Type }) => Type === type)?.Time ?? Number.NaN;
  return (at("Started") - at("Task Setup")) / 1e6;
}

async function measure(call: Call): Promise<void> {
  await until("both drivers", async () => {
    const nodes = await call<{ Drivers?: Record<string, { Healthy: boolean }> }[]>("GET", "/v1/nodes");
    const drivers = nodes[0]?.Drivers ?? {};
    return drivers["hello"]?.Healthy === true && drivers["raw_exec"]?.Healthy === true ? true : undefined;
  });
  const ours: number[] = [];
  const theirs: number[] = [];
  // the first of each warms up
  for (let round = 0; round <= ROUNDS; round++) {
    const hello = await setUpToStarted(call, `hello-${round}`, "hello", { name: "world" });
    const raw = await setUpToStarted(call, `raw-${round}`, "raw_exec", { command: "/bin/sleep", args: ["1000"] });
    if (round === 0) continue;
    ours.push(hello);
    theirs.push(raw);
  }
  console.log(
    JSON.stringify({
      package: "plugin-driver",
      case: "stock agent, set-up → started, median",
      ours: median(ours),
      peer: "stock Nomad 2.0.5, raw_exec",
      theirs: median(theirs),
      unit: "ms",
      ratio: median(ours) / median(theirs),
      goal: "≤ 1×",
    }),
  );
}

async function run(nomad: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "outrider-started-bench-"));
  mkdirSync(join(dir, "plugins"));
  cpSync(HELLO, join(dir, "plugins", "outrider-driver-hello"));
  const ports = await freePorts(3);
  const more = `plugin_dir = "${join(dir, "plugins")}"\nplugin "outrider-driver-hello" {}\n${RAW_EXEC}`;
  writeFileSync(join(dir, "agent.hcl"), stockAgentConfig({ ports, more }));
  const agent = spawn(nomad, ["agent", "-config", join(dir, "agent.hcl"), "-data-dir", join(dir, "data")], {
    cwd: dir,
    stdio: "ignore",
  });
  const gone = new Promise<void>((resolve) => agent.once("exit", () => resolve()));
  const call: Call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${ports[0]}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  try {
    await measure(call);
    // the agent ends what it runs
    await wait(2_000);
  } finally {
    agent.kill("SIGINT");
    await Promise.race([gone, wait(10_000)]);
    agent.kill("SIGKILL");
    const points = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "");
    for (const point of points.toReversed()) if (point.startsWith(`${dir}/`)) spawnSync("umount", [point]);
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

const nomad = process.env["NOMAD_BIN"];
if (nomad === undefined) console.error("NOMAD_BIN is not set: the start in a stock agent is not measured");
else if (!existsSync(HELLO)) console.error("examples/driver-hello/dist is missing: build first");
else await run(nomad);
