/** The client's process driver as a plugin of a stock agent, by the stock command line. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf, StockAgent, until } from "./stock-agent.ts";

const NOMAD = process.env["NOMAD_BIN"];
if (NOMAD === undefined) console.log("NOMAD_BIN is not set: the process driver is not run in a stock Nomad");

const PLUGIN = fileURLToPath(new URL("../../apps/client/dist-plugin/outrider-driver-process", import.meta.url));
const FILE = "outrider-driver-process";

const job = (id: string, script: string, o: { type?: string; more?: string } = {}): string => `
job "${id}" {
  type = "${o.type ?? "service"}"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver       = "process"
      kill_timeout = "5s"
      config {
        command = "/bin/sh"
        args = ["-c", <<-SH
          # ${id}
          ${script}
        SH
        ]
        ${o.more ?? ""}
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
`;

describe.skipIf(NOMAD === undefined)("the process driver in a stock agent", () => {
  let agent: StockAgent;
  beforeAll(async () => {
    expect(existsSync(PLUGIN), `${PLUGIN}: build it first`).toBe(true);
    agent = new StockAgent(NOMAD as string);
    await agent.configure({ [PLUGIN]: `config {\n  data_dir = "${join(agent.dir, "process state")}"\n}` });
    await agent.start();
  });
  afterAll(() => agent?.close());

  /** The shells of a job: one, or the task was lost or doubled. */
  const shells = (id: string): number[] =>
    processesOf(join(agent.dir, "data")).flatMap(({ pid, args }) => (args.includes(`# ${id}\n`) ? [pid] : []));
  const events = (a: any): string =>
    (a.TaskStates?.t?.Events ?? []).map((e: any) => `${e.Type}: ${e.DisplayMessage}`).join("\n");
  const exits = (a: any): string[] =>
    (a.TaskStates?.t?.Events ?? [])
      .filter((e: any) => e.Type === "Terminated")
      .map((e: any) => `${e.Details.exit_code}/${e.Details.signal}`);

  it("is healthy, beside Nomad's own raw_exec and not instead of it", async () => {
    const text = await until("a healthy driver", async () => {
      const shown = await agent.ok("node", "status", "-self", "-verbose");
      return /^process +true +true/m.test(shown) && shown;
    });
    expect(text).toMatch(/driver\.process\.users += /);
    expect(text).not.toMatch(/^raw_exec +true/m);
  });

  let id = "";
  it("runs a job, with logs, statistics, exec, a terminal and signals", async () => {
    await agent.submit(
      "all",
      job("all", `echo "pid $$"; trap 'echo got usr1' USR1; trap 'echo bye; exit 0' INT; while :; do sleep 0.1; done`),
    );
    id = (await agent.alloc("all", "running")).ID;
    expect(shells("all")).toHaveLength(1);
    await until("logs", async () => (await agent.ok("alloc", "logs", id)).startsWith("pid "));
    await until("statistics", async () => {
      const text = await agent.ok("alloc", "status", "-stats", id);
      return /Memory Stats\n.*\n.*[1-9][\d.]* [KM]iB/.test(text);
    });
    const done = await agent.nomad(
      "alloc",
      "exec",
      "-i=false",
      "-t=false",
      id,
      "/bin/sh",
      "-c",
      'echo "$NOMAD_TASK_NAME"; echo oops >&2; exit 3',
    );
    expect(done).toEqual({ code: 3, stdout: "t\n", stderr: "oops\n" });
    expect((await agent.nomad("alloc", "exec", id, "/no/such/program")).stderr).toContain("could not be found");
    await agent.ok("alloc", "signal", "-s", "SIGUSR1", id);
    await until("the answer to the signal", async () => (await agent.ok("alloc", "logs", id)).includes("got usr1"));
  });

  it.skipIf(!existsSync("/usr/bin/script"))("gives an exec a terminal", async () => {
    const { code, stdout } = await agent.onTerminal(
      `alloc exec -i=true -t=true ${id} /bin/sh -c "test -t 0 && tty; exit 4"`,
    );
    expect([code, stdout]).toEqual([4, expect.stringMatching(/\/dev\/pts\/\d+/)]);
  });

  it("stops", async () => {
    await agent.ok("job", "stop", "-detach", "all");
    const ended = await agent.alloc("all", "complete");
    expect(exits(ended)).toEqual(["0/0"]);
    expect(shells("all")).toEqual([]);
    expect(await agent.ok("alloc", "logs", id)).toMatch(/bye\n$/);
  });

  it("fails a task with a bad config in its own words", async () => {
    await agent.submit("bad", job("bad", "exit 0", { more: `umask = "999"` }));
    const failed = await agent.alloc("bad", "failed");
    expect(events(failed)).toMatch(/Driver Failure: .*umask "999" must be an octal text/);
    expect(events(failed)).not.toContain("Started");
    await agent.ok("job", "stop", "-detach", "-purge", "bad");
  });

  it.each<[string]>([["the agent"], ["the plugin"], ["both"]])(
    "keeps a task over kill -9 of %s, once, and tells its exit code",
    async (victim) => {
      const name = `kill-${victim.replace("the ", "")}`;
      await agent.submit(
        name,
        job(name, "i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo line $i; sleep 0.3; done; exit 7", {
          type: "batch",
        }),
      );
      const running = await agent.alloc(name, "running");
      const [pid] = await until("the task", () => (shells(name).length > 0 ? shells(name) : undefined));
      const plugins = agent.pluginPids(FILE);
      expect(plugins).toHaveLength(1);
      if (victim !== "the plugin") await agent.end("SIGKILL");
      if (victim !== "the agent") for (const plugin of plugins) process.kill(plugin, "SIGKILL");
      if (victim !== "the plugin") await agent.start();
      await until("one plugin process", () => agent.pluginPids(FILE).length === 1);
      expect([[pid], []]).toContainEqual(shells(name));
      const ended = await until(
        "the end of the task",
        async () => (await agent.allocs(name)).find((a) => ["failed", "complete"].includes(a.ClientStatus)),
        90_000,
      );
      expect([ended.ID, ended.ClientStatus, exits(ended)]).toEqual([running.ID, "failed", ["7/0"]]);
      const lines = (await agent.ok("alloc", "logs", running.ID)).trimEnd().split("\n");
      expect(lines).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index + 1}`));
      await agent.ok("job", "stop", "-detach", "-purge", name);
    },
  );

  it("tells the exit of a task that ended while nobody was there", async () => {
    const go = join(agent.dir, "gap-go");
    const script = `until [ -e '${go}' ]; do sleep 0.1; done; kill -TERM $$; sleep 100`;
    await agent.submit("gap", job("gap", script, { type: "batch" }));
    await agent.alloc("gap", "running");
    await until("the task", () => shells("gap").length > 0);
    const plugins = agent.pluginPids(FILE);
    await agent.end("SIGKILL");
    for (const plugin of plugins) process.kill(plugin, "SIGKILL");
    writeFileSync(go, "");
    await until("its end", () => shells("gap").length === 0);
    await agent.start();
    const ended = await agent.alloc("gap", "failed");
    expect(exits(ended)).toEqual(["143/15"]);
    await agent.ok("job", "stop", "-detach", "-purge", "gap");
  });

  it("leaves nothing behind", async () => {
    await agent.ok("system", "gc");
    const shims = (): unknown[] =>
      processesOf(join(agent.dir, "process state", "driver")).filter(({ args }) => args.includes("shim-"));
    await until("the end of all shims", () => shims().length === 0);
    expect(agent.log).not.toMatch(/panic/);
  });
});

describe.skipIf(NOMAD === undefined)("a configuration that cannot be", () => {
  it("is refused before anything runs", async () => {
    const agent = new StockAgent(NOMAD as string);
    await agent.configure({ [PLUGIN]: `config {\n  data_dir = "not absolute"\n}` });
    await expect(agent.start()).rejects.toThrow(/data_dir .*not absolute.* must be an absolute path/);
    await agent.close().catch(() => undefined);
    expect(existsSync(join(process.cwd(), "not absolute"))).toBe(false);
  });

  it("of another name is possible", async () => {
    const agent = new StockAgent(NOMAD as string);
    await agent.configure({ [PLUGIN]: `args = ["--name", "plain"]\nconfig {\n  data_dir = "${agent.dir}/state"\n}` });
    try {
      await agent.start();
      await until("a healthy driver", async () =>
        /^plain +true +true/m.test(await agent.ok("node", "status", "-self", "-verbose")),
      );
      expect(readFileSync(join(agent.dir, "state", "driver", "driver.json"), "utf8")).toContain('"plain"');
    } finally {
      await agent.close();
    }
  });
});
