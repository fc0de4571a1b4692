import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RAW_EXEC, stockAgentConfig } from "@outrider/build-config/stock-agent";
import { processesOf } from "./processes.ts";

/** An agent under measurement. */
export interface Subject extends AsyncDisposable {
  readonly name: string;
  /** A word that is in the command line of its processes. */
  readonly word: string;
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function caller(port: number): Subject["call"] {
  return <T>(method: string, path: string, body?: unknown): Promise<T> =>
    new Promise((resolve, reject) => {
      const r = request(
        { host: "127.0.0.1", port, method, path, headers: { "content-type": "application/json" } },
        (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (c: string) => (text += c));
          answer.on("end", () =>
            answer.statusCode === 200
              ? resolve(JSON.parse(text) as T)
              : reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`)),
          );
        },
      );
      r.on("error", (e) => reject(new Error(`${method} ${path}: ${e.message}`, { cause: e })));
      r.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

async function start(
  name: string,
  command: string,
  args: readonly string[],
  port: number,
  dir: string,
): Promise<Subject> {
  const log = openSync(join(dir, "agent.log"), "a");
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", log, log], detached: true });
  const call = caller(port);
  const gone = new Promise<never>((_, reject) =>
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}; log in ${dir}`))),
  );
  gone.catch(() => undefined);
  for (;;) {
    const ready = await Promise.race([
      gone,
      call<{ Status: string; Drivers?: Record<string, { Detected: boolean }> }[]>("GET", "/v1/nodes").then(
        (n) => n.some((x) => x.Status === "ready" && x.Drivers?.["raw_exec"]?.Detected),
        () => false,
      ),
    ]);
    if (ready) break;
    await pause(200);
  }
  return {
    name,
    word: dir,
    call,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await Promise.race([new Promise((resolve) => child.once("exit", resolve)), pause(10_000)]);
      for (const p of processesOf(dir)) {
        try {
          process.kill(p.pid, "SIGKILL");
        } catch {
          // gone by itself
        }
      }
      // Folders of ended allocations keep their mounts until they are collected, which nobody does any more.
      for (const line of readFileSync("/proc/mounts", "utf8").split("\n").reverse()) {
        const target = line.split(" ")[1] ?? "";
        if (target.startsWith(`${dir}/`)) spawnSync("umount", [target]);
      }
      rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Our agent, as it is built. */
export function startOutrider(port: number): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), "outrider-bench-"));
  const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  return start(
    "outrider",
    process.execPath,
    [main, "agent", "-data-dir", join(dir, "data"), "-port", String(port)],
    port,
    dir,
  );
}

/** A stock agent of Nomad, server and client in one, on loopback. */
export function startNomad(binary: string, port: number): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), "nomad-bench-"));
  const config = join(dir, "agent.hcl");
  const ports = [port, port + 1, port + 2];
  writeFileSync(config, stockAgentConfig({ ports, client: "gc_max_allocs = 2000", more: RAW_EXEC }));
  return start("nomad", binary, ["agent", "-config", config, "-data-dir", join(dir, "data")], port, dir);
}
