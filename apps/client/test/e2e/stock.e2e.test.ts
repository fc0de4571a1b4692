import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, RAW_EXEC, stockAgentConfig } from "@outrider/build-config/stock-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanEnv, exec, MAIN, Rig, type Run, send, until } from "./harness.ts";
import { endProcessesBelow, processesBelow } from "./processes.ts";

/** A stock Nomad 2.0 binary; CONTRIBUTING.md tells how to get one. */
const NOMAD = process.env["NOMAD_BIN"];
if (NOMAD === undefined) console.log("NOMAD_BIN is not set: nothing is compared with a stock Nomad");

const job = (notes: string): string => `
job "both" {
  datacenters = ["*"]
  type        = "service"
  group "g" {
    restart {
      attempts = 3
      delay    = "1s"
      interval = "10m"
      mode     = "fail"
    }
    update {
      min_healthy_time = "500ms"
      health_check     = "task_states"
    }
    task "t" {
      driver       = "raw_exec"
      kill_timeout = "2s"
      config {
        command = "/bin/sh"
        args = ["-c", <<-SH
          trap 'echo hup >>"${notes}/signals"; echo got HUP' HUP
          trap 'exit 0' TERM INT
          echo "to stderr" >&2
          echo "pid $$"
          echo $$ >>'${notes}/pids'
          while :; do sleep 0.1; done
        SH
        ]
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
`;

/** The commands of one program against one agent. */
type Tool = (...args: string[]) => Promise<Run>;

/** Everything that the commands of a first day do, in order; the same for every pair of program and agent. */
function firstDay(o: () => { tool: Tool; notes: string; jobFile: string; ours: boolean }): void {
  let id = "";
  const pids = (): number[] =>
    existsSync(join(o().notes, "pids"))
      ? readFileSync(join(o().notes, "pids"), "utf8").trim().split("\n").map(Number)
      : [];
  const ok = async (...args: string[]): Promise<string> => {
    const done = await o().tool(...args);
    expect([args.join(" "), done.code, done.stderr]).toEqual([args.join(" "), 0, expect.any(String)]);
    return done.stdout;
  };
  const status = async (): Promise<any> => JSON.parse(await ok("alloc", "status", "-json", id));
  const running = (what: string, count: number): Promise<unknown> =>
    until(what, async () => pids().length === count && (await status()).TaskStates.t.State === "running");

  it("node status", async () => {
    const list = await ok("node", "status");
    expect(list).toMatch(/^ID +Node Pool +DC +Name +Class +Drain +Eligibility +Status/);
    const node = /^([0-9a-f]{8}) .*ready/m.exec(list)?.[1] as string;
    expect(await ok("node", "status", node)).toMatch(/^ID +=/);
    expect(await ok("node", "status", "-self")).toContain(node);
    expect(JSON.parse(await ok("node", "status", "-json", node)).Status).toBe("ready");
    expect((await o().tool("node", "status", "ffffffff")).code).toBe(1);
  });

  it("job validate", async () => {
    expect(await ok("job", "validate", o().jobFile)).toContain("Job validation successful");
    const broken = join(o().notes, "broken.nomad.hcl");
    writeFileSync(broken, 'job "x" {\n  group "g" {\n    task "t" {\n      driver = \n    }\n  }\n}\n');
    expect((await o().tool("job", "validate", broken)).code).toBe(1);
  });

  it("job run", async () => {
    const said = await ok("job", "run", o().jobFile);
    expect(said).toMatch(/finished with status "complete"/);
    expect(said).toMatch(/Status += successful/);
    const missing = await o().tool("job", "run", join(o().notes, "missing.nomad.hcl"));
    expect(missing.code).toBe(1);
  });

  it("job status", async () => {
    const one = await ok("job", "status", "both");
    expect(one).toMatch(/^ID +=[^\n]*both/);
    expect(one).toMatch(/Task Group +Queued +Starting +Running +Failed +Complete +Lost/);
    id = /^([0-9a-f]{8}) +[0-9a-f]{8} +g +\d+ +run +running/m.exec(one)?.[1] as string;
    expect(id).toMatch(/^[0-9a-f]{8}$/);
    expect(await ok("job", "status")).toMatch(/^both +service +50 +running/m);
    expect(JSON.parse(await ok("job", "status", "-json", "both"))).toBeTruthy();
    expect((await o().tool("job", "status", "nothing")).code).toBe(1);
  });

  it("alloc status", async () => {
    const shown = await ok("alloc", "status", id);
    expect(shown).toMatch(/Client Status +=[^\n]*running/);
    expect(shown).toMatch(/Task "t" is "running"/);
    expect(shown).toMatch(/Started +Task started by client/);
    expect((await status()).TaskStates.t.State).toBe("running");
    expect((await o().tool("alloc", "status", "ffffffff")).code).toBe(1);
  });

  it("alloc logs", async () => {
    expect(await until("output", async () => (await ok("alloc", "logs", id)) || undefined)).toMatch(/^pid \d+\n/);
    await until("errors", async () => (await ok("alloc", "logs", "-stderr", id, "t")) === "to stderr\n");
    expect(await ok("alloc", "logs", "-tail", "-n", "1", "-job", "both")).toMatch(/^pid \d+\n$/);
    expect((await o().tool("alloc", "logs", id, "nothing")).code).toBe(1);
  });

  it("alloc signal", async () => {
    await ok("alloc", "signal", "-s", "SIGHUP", id);
    await until("the signal", () => existsSync(join(o().notes, "signals")));
    expect(pids().length).toBe(1);
    // A stock agent takes a name that it does not know for SIGKILL.
    if (o().ours) expect((await o().tool("alloc", "signal", "-s", "SIGNONSENSE", id)).code).toBe(1);
  });

  it("alloc restart", async () => {
    await ok("alloc", "restart", id, "t");
    await running("the second start", 2);
    await ok("alloc", "restart", id);
    await running("the third start", 3);
    // Reports come in rounds: the newest state may be on its way.
    await until("both restarts in the events", async () => {
      const { Events } = (await status()).TaskStates.t;
      return Events.filter((e: any) => e.Type === "Restart Signaled").length === 2;
    });
  });

  it("alloc pause", async () => {
    if (!o().ours) {
      // Only Nomad Enterprise and Outrider can; the other says so.
      expect((await o().tool("alloc", "pause", id, "t")).code).toBe(1);
      return;
    }
    await ok("alloc", "pause", "-state=pause", id, "t");
    expect(
      await until("the pause", async () => {
        const state = await ok("alloc", "pause", "-status", id, "t");
        return state.includes("force_pause") && state;
      }),
    ).toContain("force_pause");
    await until("the task to stop", () => processesBelow(o().notes).length === 0);
    await ok("alloc", "pause", "-state=run", id, "t");
    await running("the start after the pause", 4);
    await ok("alloc", "pause", "-state=scheduled", id, "t");
  });

  it("alloc stop", async () => {
    const before = pids().length;
    await ok("alloc", "stop", "-detach", id);
    await until("another allocation", async () => {
      const list = await ok("job", "status", "both");
      const next = /^([0-9a-f]{8}) +[0-9a-f]{8} +g +\d+ +run +running/m.exec(list)?.[1];
      return next !== undefined && next !== id && pids().length === before + 1;
    });
  });

  it("job stop", async () => {
    const stopped = await o().tool("job", "stop", "-detach", "both");
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
    await until("the end of all its processes", () => processesBelow(o().notes).length === 0);
    await until("a dead job", async () => /Status +=[^\n]*dead/.test(await ok("job", "status", "both")));
    expect((await o().tool("job", "stop", "nothing")).code).toBe(1);
  });
}

describe.skipIf(NOMAD === undefined)("the stock command line against our agent", () => {
  let rig: Rig;
  let notes: string;
  beforeAll(async () => {
    rig = new Rig("stock");
    await rig.start();
    notes = join(rig.dir, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "both.nomad.hcl"), job(notes));
  });
  afterAll(() => rig.close());

  firstDay(() => ({
    tool: (...args) => exec(NOMAD as string, args, cleanEnv(rig.cliEnv()), rig.dir),
    notes,
    jobFile: join(notes, "both.nomad.hcl"),
    ours: true,
  }));
});

describe.skipIf(NOMAD === undefined)("our command line against a stock agent", () => {
  let dir: string;
  let notes: string;
  let agent: ChildProcess;
  let ports: number[];
  let log = "";
  beforeAll(async () => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), "outrider-e2e-stock-agent-")));
    notes = join(dir, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "both.nomad.hcl"), job(notes));
    ports = await freePorts(3);
    writeFileSync(join(dir, "agent.hcl"), stockAgentConfig({ ports, more: RAW_EXEC }));
    const env = cleanEnv();
    delete env["AWS_CA_BUNDLE"];
    const args = ["agent", "-config", join(dir, "agent.hcl"), "-data-dir", join(dir, "data")];
    agent = spawn(NOMAD as string, args, { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [agent.stdout, agent.stderr]) stream?.on("data", (chunk) => (log += String(chunk)));
    await until(
      "a stock node that is ready",
      async () => {
        if (agent.exitCode !== null) throw new Error(`the stock agent ended: ${log.slice(-2000)}`);
        const answer = await send({ host: "127.0.0.1", port: ports[0] as number }, "GET", "/v1/nodes").catch(
          () => undefined,
        );
        return answer?.status === 200 && JSON.parse(answer.text)?.[0]?.Status === "ready";
      },
      60_000,
    );
  });
  afterAll(async () => {
    const gone = new Promise((resolve) => agent.once("exit", resolve));
    agent.kill("SIGKILL");
    await gone;
    await endProcessesBelow(dir);
    for (const mount of (
      await exec("/bin/sh", ["-c", `grep -o '${dir}[^ ]*' /proc/self/mounts | sort -u`], cleanEnv())
    ).stdout.split("\n"))
      if (mount !== "") await exec("umount", ["-l", mount], cleanEnv());
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  });

  firstDay(() => ({
    tool: (...args) =>
      exec(process.execPath, [MAIN, ...args], cleanEnv({ NOMAD_ADDR: `http://127.0.0.1:${ports[0]}` }), dir),
    notes,
    jobFile: join(notes, "both.nomad.hcl"),
    ours: false,
  }));
});
