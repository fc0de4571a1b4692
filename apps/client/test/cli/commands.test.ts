import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/index.ts";
import { runCommand } from "../../src/cli/run.ts";
import { waitingTasks } from "../../src/cli/waiting-tasks.ts";

const NOW = Date.parse("2026-11-30T12:00:00Z");
let server: Server | undefined;
afterEach(() => void server?.close());

/** An agent that answers from a table; a path may have several answers, one after the other. */
async function agent(answers: Record<string, unknown[]>): Promise<string> {
  server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const left = answers[path];
    const answer = left === undefined ? undefined : left.length > 1 ? left.shift() : left[0];
    if (answer === undefined) response.writeHead(404).end(path);
    else response.setHeader("x-nomad-index", "7").end(JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server?.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

async function cli(address: string, argv: string[], stdin = ""): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const context: CommandContext = {
    stdout: { write: (t) => void (out += String(t)) },
    stderr: { write: (t) => void (err += String(t)) },
    stdin: (async function* () {
      yield Buffer.from(stdin);
    })(),
    env: { NOMAD_ADDR: address },
    cwd: "/",
    clock: {
      now: () => NOW,
      monotonic: () => 0,
      setTimeout: (fn) => setImmediate(fn),
      clearTimeout: () => undefined,
    },
    signal: new AbortController().signal,
  };
  return { code: await runCommand(COMMANDS, context, argv), out, err };
}

const job = (start: string, end: string): string =>
  `job "x" {\n group "g" {\n task "t" {\n driver = "raw_exec"\n schedule {\n cron {\n start = "${start}"\n end = "${end}"\n timezone = "UTC"\n }\n }\n }\n task "u" {\n driver = "raw_exec"\n }\n }\n}\n`;

const run = (deadline: string, start: string, end: string): Promise<{ code: number; out: string; err: string }> =>
  agent({
    "/v1/jobs": [{ EvalID: "e1", Warnings: "" }],
    "/v1/evaluation/e1": [{ ID: "e1", Status: "complete", DeploymentID: "d1", JobID: "x" }],
    "/v1/evaluation/e1/allocations": [[]],
    "/v1/deployment/d1": ["running", "running", "successful"].map((Status) => ({
      ID: "d1",
      JobID: "x",
      Status,
      TaskGroups: { g: { DesiredTotal: 1, RequireProgressBy: deadline } },
    })),
  }).then((address) => cli(address, ["job", "run", "-"], job(start, end)));

describe("a job with a task outside of its window", () => {
  it("is watched with the reason why its deployment waits, once, and the way out", async () => {
    const { code, out, err } = await run("2026-11-30T12:10:00Z", "5 12 * * * *", "0 13");
    expect([code, err]).toEqual([0, ""]);
    const line =
      'Task "t" of group "g" waits for its window, which opens at 2026-11-30T12:05:00Z (5m0s from now); it is not healthy before';
    expect(out.split(line)).toHaveLength(2);
    expect(out).toContain("Ctrl-C ends only this display, the job stays");
    expect(out).not.toContain("progress deadline, which is earlier");
  });

  it("is said to fail when the progress deadline comes first, or the window never", async () => {
    expect((await run("2026-11-30T12:10:00Z", "0 18 * * * *", "0 19")).out).toContain(
      "progress deadline, which is earlier",
    );
    const never = await run("0001-01-01T00:00:00Z", "0 18 * * * 2025", "0 19");
    expect(never.out).toContain("never opens again");
    expect(never.out).toContain("max_parallel = 0");
  });

  it("is no matter inside of the window, or when the schedule is none", async () => {
    expect((await run("2026-11-30T12:10:00Z", "0 11 * * * *", "0 19")).out).not.toContain("Ctrl-C");
    expect(
      waitingTasks({ TaskGroups: [{ Tasks: [{ Schedule: { Cron: { Start: "nonsense" } } }] }, {}] } as never, NOW),
    ).toEqual([]);
  });
});

describe("alloc status", () => {
  it("shows no use of a task that is paused, although its agent remembers the last figures", async () => {
    const used = { MemoryStats: { RSS: 20 * 2 ** 20, Measured: ["RSS"] }, CpuStats: { TotalTicks: 55 } };
    const task = { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 30 } };
    const alloc = {
      ID: "aaaaaaaa-0000-0000-0000-000000000000",
      TaskGroup: "g",
      TaskStates: { t: { State: "pending", Paused: "scheduled_pause" }, u: { State: "running" } },
      AllocatedResources: { Tasks: { t: task, u: task }, Shared: { DiskMB: 10 } },
    };
    const address = await agent({
      "/v1/allocations": [[alloc]],
      [`/v1/allocation/${alloc.ID}`]: [alloc],
      [`/v1/client/allocation/${alloc.ID}/stats`]: [
        { Tasks: { t: { ResourceUsage: used }, u: { ResourceUsage: used } } },
      ],
    });
    const { out } = await cli(address, ["alloc", "status", "aaaaaaaa"]);
    const [t, u] = out.split('Task "u"');
    expect(t).toContain("0/100 MHz  0 B/30 MiB");
    expect(u).toContain("55/100 MHz  20 MiB/30 MiB");
  });
});

describe("a list of nodes", () => {
  it("may be asked for in pages, by an expression, and as bare ids", async () => {
    const seen: (string | undefined)[] = [];
    server = createServer((request, response) => {
      seen.push(request.url);
      response.setHeader("x-nomad-nexttoken", "after").end(JSON.stringify([{ ID: "n1n1n1n1-whole", Name: "one" }]));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server?.once("listening", resolve));
    const address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const argv = ["node", "status", "-per-page", "1", "-page-token=here", "-filter", 'Name == "one"'];
    expect((await cli(address, argv)).out).toMatch(
      /n1n1n1n1 .*\n\nThere are more; the next page: -page-token after\n$/,
    );
    expect(seen).toEqual(["/v1/nodes?filter=Name+%3D%3D+%22one%22&per_page=1&next_token=here"]);
    expect((await cli(address, ["node", "status", "-quiet"])).out).toBe("n1n1n1n1-whole\n");
    expect((await cli(address, ["node", "status", "-quiet", "-json"])).err).toContain("cannot be used with");
    expect((await cli(address, ["node", "status", "-per-page=-1"])).code).toBe(1);
  });
});

describe("the output of a job", () => {
  it("is that of one of its groups when it is named", async () => {
    const alloc = { ID: "aaaaaaaa-0000-0000-0000-000000000000", TaskGroup: "g" };
    const answers = {
      "/v1/jobs": [[{ ID: "x" }]],
      "/v1/job/x/allocations": [[alloc]],
      "/v1/allocations": [[alloc]],
      [`/v1/allocation/${alloc.ID}`]: [
        { ...alloc, Job: { TaskGroups: [{ Name: "g", Tasks: [{ Name: "a" }, { Name: "b" }] }] } },
      ],
    };
    const address = await agent(answers);
    expect((await cli(address, ["alloc", "logs", "-job", "-group", "g", "x"])).err).toContain(
      "Please specify the task",
    );
    expect((await cli(address, ["alloc", "logs", "-job", "-group", "h", "x"])).err).toBe(
      'Job "x" has no allocations of a group "h"\n',
    );
    expect((await cli(address, ["alloc", "logs", "-group", "g", "x"])).err).toContain("-group goes with -job");
  });
});
