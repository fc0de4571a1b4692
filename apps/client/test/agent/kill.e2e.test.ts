import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

const here = dirname(fileURLToPath(import.meta.url));
let dir: string;
let child: ChildProcess | undefined;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "outrider-kill-"))));
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

async function start(): Promise<string> {
  const started = spawn(
    process.execPath,
    ["--import", "tsx", "--conditions=@outrider/source", join(here, "fixtures-agent.ts"), join(dir, "data")],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  child = started;
  return new Promise((resolve, reject) => {
    started.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()));
    started.once("exit", () => reject(new Error("the agent ended")));
  });
}

async function kill(): Promise<void> {
  const gone = new Promise((resolve) => child?.once("exit", resolve));
  child?.kill("SIGKILL");
  await gone;
}

const body = (id: string): string =>
  JSON.stringify({
    Job: {
      ID: id,
      Name: id,
      Type: id.startsWith("batch") ? "batch" : "service",
      Datacenters: ["*"],
      TaskGroups: [
        {
          Name: "g",
          Count: 2,
          EphemeralDisk: { SizeMB: 10 },
          Tasks: [
            {
              Name: "t",
              Driver: "raw_exec",
              Config: { command: "/bin/true" },
              Resources: { CPU: 1, MemoryMB: 10 },
              LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
            },
          ],
        },
      ],
    },
  });

it("keeps every job that was acknowledged through kill -9 at any moment, runs none twice, and never turns its index back", async () => {
  const acknowledged: string[] = [];
  let index = 0;
  let next = 0;
  for (let round = 0; round < 5; round++) {
    const address = await start();
    const answer = await fetch(`${address}/v1/jobs`);
    expect(Number(answer.headers.get("x-nomad-index"))).toBeGreaterThanOrEqual(index);
    const known = ((await answer.json()) as Array<{ ID: string }>).map((j) => j.ID);
    expect(acknowledged.filter((id) => !known.includes(id))).toEqual([]);

    let stop = false;
    // What all rounds leave must settle after the last one.
    const most = next + 60;
    const submit = async (): Promise<void> => {
      while (!stop && next < most) {
        const id = `${next % 3 === 0 ? "batch" : "web"}-${next++}`;
        const response = await fetch(`${address}/v1/jobs`, { method: "PUT", body: body(id) }).catch(() => undefined);
        if (response?.status !== 200) return;
        const reply = (await response.json().catch(() => undefined)) as { Index: number } | undefined;
        if (reply === undefined) return;
        acknowledged.push(id);
        index = Math.max(index, reply.Index);
      }
    };
    const submitting = Promise.all([submit(), submit(), submit()]);
    await sleep(200 + round * 150);
    // A slow machine gets the time that it needs to accept some jobs, so that there is something to lose.
    while (acknowledged.length < 5 * (round + 1)) await sleep(10);
    await kill();
    stop = true;
    await submitting;
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(25);

  const address = await start();
  const get = async (path: string): Promise<any> => (await fetch(`${address}${path}`)).json();
  // As long as it takes: the test's own limit ends the wait.
  for (;;) {
    const jobs = (await get("/v1/jobs")) as Array<{
      ID: string;
      JobSummary: { Summary: { g: Record<string, number> } };
    }>;
    const settled = jobs.every(
      ({ ID, JobSummary: { Summary } }) =>
        (ID.startsWith("batch") ? Summary.g["Complete"] : Summary.g["Running"]) === 2,
    );
    if (settled) break;
    await sleep(50);
  }
  for (const id of acknowledged) {
    const allocs = (await get(`/v1/job/${id}/allocations`)) as Array<{ Name: string; ClientStatus: string }>;
    const wanted = id.startsWith("batch") ? "complete" : "running";
    expect([id, allocs.map((a) => `${a.Name} ${a.ClientStatus}`).sort()]).toEqual([
      id,
      [`${id}.g[0] ${wanted}`, `${id}.g[1] ${wanted}`],
    ]);
  }
  await kill();
});
