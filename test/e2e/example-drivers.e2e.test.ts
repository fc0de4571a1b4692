/** The example drivers in a stock agent, by the stock command line: everything that a driver is there for, and every way to kill it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf, StockAgent, until } from "./stock-agent.ts";

const NOMAD = process.env["NOMAD_BIN"];
if (NOMAD === undefined) console.log("NOMAD_BIN is not set: the example drivers are not run in a stock Nomad");

const bundle = (name: string): string =>
  fileURLToPath(new URL(`../../examples/driver-${name}/dist/outrider-driver-${name}`, import.meta.url));
const HELLO = bundle("hello");
const WINDOWED = bundle("windowed");

/** `config` of a task of each driver that greets `who`. */
const CONFIGS = {
  hello: (who: string, more: string) => `config {
        name  = "${who}"
        every = 0.5
        ${more}
      }`,
  // From midnight to midnight, half told by meta, in a zone in which neither is near: open while the tests run.
  windowed: (who: string, more: string) => `meta {
        window_end      = "0 0"
        window_timezone = "${new Date().getUTCHours() < 12 ? "Etc/GMT-6" : "Etc/GMT+6"}"
      }
      config {
        driver       = "hello"
        window_start = "0 0 * * * *"
        config {
          name  = "${who}"
          every = 0.5
          ${more}
        }
      }`,
};
type Driver = keyof typeof CONFIGS;

const job = (id: string, driver: Driver, config: string, type = "service"): string => `
job "${id}" {
  type = "${type}"
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
      driver       = "${driver}"
      kill_timeout = "5s"
      ${config}
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
`;

describe.skipIf(NOMAD === undefined)("in a stock agent", () => {
  let agent: StockAgent;
  beforeAll(async () => {
    for (const file of [HELLO, WINDOWED]) expect(existsSync(file), `${file}: build it first`).toBe(true);
    agent = new StockAgent(NOMAD as string);
    await agent.configure({
      [HELLO]: "",
      [WINDOWED]: `config {
  driver "hello" {
    command = "${HELLO}"
  }
  state_dir = "${join(agent.dir, "windowed")}"
}`,
    });
    await agent.start();
  });
  afterAll(() => agent?.close());

  const file = (driver: Driver): string => `outrider-driver-${driver}`;
  /** The shells that greet somebody: one, or the task was lost or doubled. */
  const greeters = (who: string): number[] =>
    processesOf(join(agent.dir, "data")).flatMap(({ pid, args }) =>
      args.startsWith("/bin/sh -c trap 'exit 0'") && args.includes(`, ${who}!`) ? [pid] : [],
    );
  const events = (a: any): string[] =>
    (a.TaskStates?.t?.Events ?? []).map((e: any) => `${e.Type}: ${e.DisplayMessage}`);
  const exits = (a: any): number[] =>
    (a.TaskStates?.t?.Events ?? [])
      .filter((e: any) => e.Type === "Terminated")
      .map((e: any) => Number(e.Details.exit_code));

  it("both are detected and healthy", async () => {
    const text = await until("healthy drivers", async () => {
      const shown = await agent.ok("node", "status", "-self", "-verbose");
      return ["hello", "windowed"].every((name) => new RegExp(`^${name} +true +true`, "m").test(shown)) && shown;
    });
    expect(text).toMatch(/^Driver +Detected +Healthy +Message/m);
    expect(text).toMatch(/driver\.windowed\.drivers += hello/);
    expect(await agent.ok("node", "status", "-self")).toMatch(/Driver Status +=.*hello,.*windowed/);
  });

  describe.each<Driver>(["hello", "windowed"])("the driver %s", (driver) => {
    const id = `run-${driver}`;
    let allocId = "";
    it("runs a job", async () => {
      await agent.submit(id, job(id, driver, CONFIGS[driver](id, "")));
      const running = await agent.alloc(id, "running");
      allocId = running.ID;
      expect(greeters(id)).toHaveLength(1);
    });

    it("streams its logs", async () => {
      const logs = await until("logs", async () => {
        const text = await agent.ok("alloc", "logs", allocId);
        return text.split("\n").length > 3 && text;
      });
      expect(logs).toMatch(new RegExp(`^(hello, ${id}!\n)+$`));
    });

    it("tells its statistics", async () => {
      const shown = await until("statistics", async () => {
        const text = await agent.ok("alloc", "status", "-stats", allocId);
        return text.includes("Memory Stats") && /\d\.\d+%/.test(text) && text;
      });
      expect(shown).toMatch(/Memory Stats\n.*RSS.*\n.*[1-9][\d.]* [KM]iB/);
      expect(shown).toMatch(/CPU Stats\n.*Percent/);
    });

    it("runs commands beside the task, with their exit code and with what is typed", async () => {
      const word = ["alloc", "exec", "-i=false", "-t=false", allocId];
      expect(await agent.nomad(...word, "/bin/sh", "-c", 'echo "$NOMAD_TASK_NAME"; echo oops >&2; exit 3')).toEqual({
        code: 3,
        stdout: "t\n",
        stderr: "oops\n",
      });
      expect((await agent.nomad(...word, "/no/such/program")).stderr).toContain("ENOENT");
    });

    it.skipIf(!existsSync("/usr/bin/script"))("gives a command a terminal when it is asked for one", async () => {
      const command = `alloc exec -i=true -t=true ${allocId} /bin/sh -c "test -t 0 && tty; exit 4"`;
      const { code, stdout } = await agent.onTerminal(command);
      expect([code, stdout]).toEqual([4, expect.stringMatching(/\/dev\/pts\/\d+/)]);
    });

    it("passes signals on", async () => {
      await agent.ok("alloc", "signal", "-s", "SIGUSR1", allocId);
      await until("the answer to the signal", async () =>
        (await agent.ok("alloc", "logs", allocId)).includes("Again!"),
      );
      const wrong = await agent.nomad("alloc", "signal", "-s", "SIGBOGUS", allocId);
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("unknown signal SIGBOGUS")]);
    });

    it("stops", async () => {
      await agent.ok("job", "stop", "-detach", id);
      const ended = await agent.alloc(id, "complete");
      expect(exits(ended)).toEqual([0]);
      expect(greeters(id)).toEqual([]);
    });

    it("fails a task with a bad config in its own words, and not a second time", async () => {
      const bad = `bad-${driver}`;
      await agent.submit(
        bad,
        job(
          bad,
          driver,
          CONFIGS[driver](bad, "greeting = 1\n        every = 0")
            .replace("every = 0.5\n", "\n")
            .replace(/every {1,2}= 0\.5/, ""),
        ),
      );
      const failed = await agent.alloc(bad, "failed");
      expect(events(failed).join("\n")).toMatch(/Driver Failure: .*config\.every: must be more than 0, but is 0/);
      expect(events(failed).filter((text) => text.startsWith("Started"))).toEqual([]);
      await agent.ok("job", "stop", "-detach", "-purge", bad);
    });

    it.each<[string, (() => Promise<void>) | undefined, boolean]>([
      ["the agent", undefined, false],
      ["the plugin", undefined, true],
      ["both", undefined, true],
    ])("keeps a task over kill -9 of %s, once, and tells its exit code", async (victim) => {
      const name = `kill-${driver}-${victim.replace("the ", "")}`;
      await agent.submit(name, job(name, driver, CONFIGS[driver](name, "times = 40\n        exit_code = 7"), "batch"));
      const running = await agent.alloc(name, "running");
      const [pid] = await until("the task", () => (greeters(name).length > 0 ? greeters(name) : undefined));
      const plugins = agent.pluginPids(file(driver));
      expect(plugins).toHaveLength(1);
      if (victim !== "the plugin") await agent.end("SIGKILL");
      if (victim !== "the agent") for (const plugin of plugins) process.kill(plugin, "SIGKILL");
      if (victim !== "the plugin") await agent.start();
      await until("one plugin process", () => agent.pluginPids(file(driver)).length === 1);
      const [plugin] = agent.pluginPids(file(driver));
      if (victim === "the agent") expect(plugin).toBe(plugins[0]);
      else expect(plugin).not.toBe(plugins[0]);
      // The same one, or none when its time was over before the agent was back.
      expect([[pid], []]).toContainEqual(greeters(name));
      const ended = await until(
        "the end of the task",
        async () => (await agent.allocs(name)).find((a) => ["failed", "complete"].includes(a.ClientStatus)),
        90_000,
      );
      expect([ended.ID, ended.ClientStatus, exits(ended)]).toEqual([running.ID, "failed", [7]]);
      const lines = (await agent.ok("alloc", "logs", running.ID)).trimEnd().split("\n");
      expect(new Set(lines)).toEqual(new Set([`hello, ${name}!`]));
      // A stock agent's log process loses nothing, whoever died.
      expect(lines).toHaveLength(40);
      await agent.ok("job", "stop", "-detach", "-purge", name);
    });
  });

  it("a windowed task outside of its window waits, without a process, and says until when", async () => {
    const year = new Date().getUTCFullYear() + 2;
    const config = CONFIGS.windowed("later", "")
      .replace("0 0 * * * *", `0 0 1 1 * ${year}`)
      .replace(/"Etc.*"/, '"UTC"');
    await agent.submit("later", job("later", "windowed", config));
    const waiting = await until("the event", async () => {
      const [a] = await agent.allocs("later");
      return a !== undefined && events(a).some((text) => text.includes("Waiting for the window")) && a;
    });
    expect(waiting.ClientStatus).toBe("running");
    expect(events(waiting).join("\n")).toContain(
      `Driver: Waiting for the window, which opens ${year}-01-01T00:00:00.000Z`,
    );
    expect(greeters("later")).toEqual([]);
    await agent.ok("job", "stop", "-detach", "later");
    expect(exits(await agent.alloc("later", "complete"))).toEqual([0]);
  });

  it("an agent that leaves in order ends the plugins and none of the tasks, and finds them again", async () => {
    for (const driver of ["hello", "windowed"] as const)
      await agent.submit(`stay-${driver}`, job(`stay-${driver}`, driver, CONFIGS[driver](`stay-${driver}`, "")));
    for (const driver of ["hello", "windowed"] as const) await agent.alloc(`stay-${driver}`, "running");
    const before = ["stay-hello", "stay-windowed"].flatMap(greeters);
    expect(before).toHaveLength(2);
    await agent.end("SIGINT");
    await until(
      "the end of the plugins",
      () => processesOf(agent.plugins).length === 0 && processesOf(HELLO).length === 0,
    );
    expect(["stay-hello", "stay-windowed"].flatMap(greeters)).toEqual(before);
    await agent.start();
    for (const driver of ["hello", "windowed"] as const) await agent.alloc(`stay-${driver}`, "running");
    expect(["stay-hello", "stay-windowed"].flatMap(greeters)).toEqual(before);
    for (const driver of ["hello", "windowed"] as const) await agent.ok("job", "stop", "-detach", `stay-${driver}`);
    await until("the end of the tasks", () => ["stay-hello", "stay-windowed"].flatMap(greeters).length === 0);
    expect(agent.log).not.toMatch(/panic|client\.driver_mgr.*\[ERROR\].*decode/);
  });
});
