import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { persist, persistentWait } from "./agent-stub.ts";
import { alive, type Harness, pause, startHarness, type TestTask, until } from "./harness.ts";

let h: Harness;
afterEach(async () => {
  await h.close();
});

/** Processes that carry the marker of a task of this run. */
function marked(ids: readonly string[]): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const environ = readFileSync(`/proc/${name}/environ`, "latin1");
      if (ids.some((id) => environ.includes(`OUTRIDER_TASK=${id}`)) && alive(Number(name))) found.push(Number(name));
    } catch {
      // gone
    }
  }
  return found;
}

/** Shells that supervise tasks of this data folder. */
function shims(dataDir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`${dataDir}/driver/specs/`) && alive(pid);
      } catch {
        return false;
      }
    });
}

interface Kind {
  readonly script: string;
  readonly expected: { exitCode: number; signal: number };
  readonly output: string;
  /** Its script makes the file `armed` when its trap is set: a signal before that ends it as it ends everybody. */
  readonly stop?: { timeoutMs: number; signal: string };
}

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `${i + 1}\n`).join("");

function kinds(n: number): Kind {
  const sleep = (0.05 + ((n * 7) % 20) / 20).toFixed(2);
  switch (n % 7) {
    case 0:
      return { script: `sleep ${sleep}; echo bye; exit ${n}`, expected: { exitCode: n, signal: 0 }, output: "bye\n" };
    case 1:
      return { script: "seq 1 60000; exit 0", expected: { exitCode: 0, signal: 0 }, output: lines(60_000) };
    case 2:
      return { script: `sleep ${sleep}; kill -SEGV $$; sleep 5`, expected: { exitCode: 139, signal: 11 }, output: "" };
    case 3:
      return {
        script: "trap '' INT; echo deaf; : >armed; while :; do sleep 0.1; done",
        expected: { exitCode: 137, signal: 9 },
        output: "deaf\n",
        stop: { timeoutMs: 150, signal: "" },
      };
    case 4:
      return {
        script: `setsid sleep 1000 & sleep ${sleep}; exit 137`,
        expected: { exitCode: 137, signal: 0 },
        output: "",
      };
    case 5:
      return {
        // A driver that takes over in the middle of a stop repeats it: a second signal must not begin the last words anew.
        script: "trap 'trap \"\" TERM; seq 1 5000; exit 9' TERM; : >armed; while :; do sleep 0.05; done",
        expected: { exitCode: 9, signal: 0 },
        output: lines(5_000),
        stop: { timeoutMs: 20_000, signal: "SIGTERM" },
      };
    default:
      return {
        script: `i=0; while [ $i -lt 40 ]; do i=$((i+1)); seq 1 500; sleep 0.02; done`,
        expected: { exitCode: 0, signal: 0 },
        output: lines(500).repeat(40),
      };
  }
}

describe("tasks and their driver process", () => {
  it("survive kill -9 of driver and agent at random moments: nothing doubled, lost, orphaned, and no log byte missing", async () => {
    h = await startHarness();
    await h.driver();
    const drivers = (): Harness["drivers"] => h.drivers;
    let kills = 0;
    let done = false;
    const killer = (async () => {
      while (!done) {
        await persist(drivers, (driver) => driver.info());
        await pause(Math.random() ** 2 * 2_500);
        if (done as boolean) return;
        const what = Math.random();
        if (what < 0.7) {
          try {
            process.kill(h.driverPid(), "SIGKILL");
            kills++;
          } catch {
            // between two lives
          }
        } else {
          await h.restartAgent();
        }
      }
    })();
    const ids: string[] = [];
    const stage = new Map<number, string>();
    const life = async (n: number): Promise<string[]> => {
      const kind = kinds(n);
      let task: TestTask | undefined;
      while (task === undefined) {
        try {
          task = await h.prepare("sh", ["-c", `echo $$ >>starts; ${kind.script}`], { name: `t${n}` });
        } catch (reason) {
          if (!/closed|shut down/.test(String(reason))) throw reason;
        }
      }
      const { config } = task;
      ids.push(config.id);
      stage.set(n, `start ${config.id}`);
      const started = await persist(drivers, (driver) => driver.startTask(config));
      const waiting = persistentWait(drivers, started.handle);
      stage.set(n, `run ${config.id}`);
      if (kind.stop !== undefined) {
        const { timeoutMs, signal } = kind.stop;
        await until("its trap", () => existsSync(join(config.allocDir, config.name, "armed")), 60_000);
        await pause(Math.random() * 1_000);
        await persist(drivers, (driver) => driver.stopTask(config.id, timeoutMs, signal), started.handle);
      }
      stage.set(n, `wait ${config.id}`);
      const { exitCode, signal } = await waiting;
      stage.set(n, `destroy ${config.id}`);
      await persist(drivers, (driver) =>
        driver.destroyTask(config.id, false).catch((reason: { code?: string }) => {
          if (reason.code !== "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND") throw reason;
        }),
      );
      stage.delete(n);
      const problems: string[] = [];
      if (exitCode !== kind.expected.exitCode || signal !== kind.expected.signal)
        problems.push(`task ${n}: ${exitCode}/${signal}`);
      if (task.stdout() !== kind.output)
        problems.push(`task ${n}: ${task.stdout().length} bytes instead of ${kind.output.length}`);
      const starts = readFileSync(join(config.allocDir, config.name, "starts"), "utf8")
        .trim()
        .split("\n").length;
      if (starts !== 1) problems.push(`task ${n}: started ${starts} times`);
      return problems;
    };
    const problems: string[] = [];
    try {
      // A fast machine ends the tasks sooner: rounds go on until the driver was killed often enough.
      for (let round = 0; round < 2 || kills <= 3; round++) {
        const all = await Promise.all(Array.from({ length: 21 }, (_, n) => life(n)));
        problems.push(...all.flat());
      }
    } catch (reason) {
      throw new Error(`stuck: ${JSON.stringify([...stage])}`, { cause: reason });
    } finally {
      done = true;
      await killer;
    }
    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThan(3);
    await until("shims released", () => shims(h.dataDir).length === 0);
    expect(marked(ids)).toEqual([]);
    for (const folder of ["slots", "tasks", "specs"])
      expect(readdirSync(join(h.dataDir, "driver", folder))).toEqual([]);
  });

  it("leaves a task its whole time to stop when the agent goes away in the middle", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", [
      "-c",
      "trap 'echo told; until [ -e go ]; do sleep 0.05; done; echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done",
    ]);
    await driver.startTask(task.config);
    await until("the task is up", () => task.stdout() === "up\n");
    const ended = driver.waitTask(task.config.id);
    const agent = new AbortController();
    const stopped = driver.stopTask(task.config.id, 20_000, "SIGTERM", agent.signal);
    await until("the signal", () => task.stdout() === "up\ntold\n");
    agent.abort(new Error("the agent goes away"));
    await expect(stopped).rejects.toThrow("goes away");
    // a call that comes after the news of the abort has come, too
    await driver.inspectTask(task.config.id);
    writeFileSync(join(task.config.allocDir, "t", "go"), "");
    expect(await ended).toMatchObject({ exitCode: 9, signal: 0 });
    expect(task.stdout()).toBe("up\ntold\nbye\n");
  });

  it("tells the exit code of a task that ended while no driver was there", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "until [ -e go ]; do sleep 0.05; done; seq 1 10; exit 42"]);
    const { handle } = await driver.startTask(task.config);
    const pid = Number((await driver.inspectTask(task.config.id)).status.attributes["pid"]);
    expect(pid).toBeGreaterThan(1);
    await h.killDriver();
    writeFileSync(join(task.config.allocDir, "t", "go"), "");
    await until("its end", () => !alive(pid));
    const next = await h.driver(1);
    await next.recoverTask(handle);
    await next.recoverTask(handle);
    expect(await next.waitTask(task.config.id)).toMatchObject({ exitCode: 42, signal: 0 });
    expect(task.stdout()).toBe(lines(10));
    await next.destroyTask(task.config.id, false);
  });

  it("never signals a process that a planted or outdated slot names", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sleep", ["1000"]);
    await driver.startTask(task.config);
    const bystander = spawn("sleep", ["1000"], { stdio: "ignore" });
    const key = readdirSync(join(h.dataDir, "driver", "slots"))[0] as string;
    const slot = join(h.dataDir, "driver", "slots", key);
    const own = /^S (\d+) (\d+) (\d+) (\d+)/.exec(readFileSync(slot, "latin1")) as RegExpExecArray;
    await h.killDriver();
    // the pid of a stranger, with the start time of the task
    const line = `S ${bystander.pid} ${own[2]} ${bystander.pid} ${own[4]} .\n`;
    writeFileSync(slot, line + "\n".repeat(512 - line.length));
    const next = await h.driver(1);
    await next.stopTask(task.config.id, 100, "SIGKILL").catch(() => undefined);
    await next.destroyTask(task.config.id, true).catch(() => undefined);
    expect(alive(bystander.pid as number)).toBe(true);
    bystander.kill("SIGKILL");
    process.kill(Number(own[1]), "SIGKILL");
  });

  it("finds out that a prepared task never started, and can start it then", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "echo once; exit 4"]);
    const { handle } = await driver.startTask(task.config);
    expect(await driver.waitTask(task.config.id)).toMatchObject({ exitCode: 4 });
    // as if the driver had died between making the slot and spawning the shim
    const folder = join(h.dataDir, "driver");
    const key = readdirSync(join(folder, "slots"))[0] as string;
    await h.killDriver();
    writeFileSync(join(folder, "slots", key), "\n".repeat(512));
    writeFileSync(join(folder, "specs", key), "exit 0\n");
    const next = await h.driver(1);
    await expect(next.recoverTask(handle)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    expect(readdirSync(join(folder, "specs"))).toEqual([]);
    await next.startTask(task.config);
    expect(await next.waitTask(task.config.id)).toMatchObject({ exitCode: 4 });
    expect(task.stdout()).toBe("once\nonce\n");
    await next.destroyTask(task.config.id, false);
  });

  it("goes on when somebody kills the supervising shell: the task lives, can be stopped, and its end is told", async () => {
    h = await startHarness();
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "echo $$; exec sleep 1000"]);
    await driver.startTask(task.config);
    await until("pid", () => task.stdout() !== "");
    const shim = shims(h.dataDir)[0] as number;
    process.kill(shim, "SIGKILL");
    await pause(1_300);
    expect(alive(Number(task.stdout()))).toBe(true);
    await driver.stopTask(task.config.id, 5_000, "SIGTERM");
    const result = await driver.waitTask(task.config.id);
    expect(result.exitCode).toBe(-1);
    expect(result.error).toContain("its exit code is unknown");
    await driver.destroyTask(task.config.id, false);
  });

  it("records results and exits on a full disk, and goes on with the output afterwards", async ({ skip }) => {
    const root = mkdtempSync(join(tmpdir(), "outrider-full-"));
    const mounted = spawn("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", root], { stdio: "ignore" });
    if ((await new Promise((resolve) => mounted.once("exit", resolve))) !== 0) {
      h = await startHarness();
      skip("cannot mount a small disk here");
    }
    try {
      h = await startHarness({ dataDir: join(root, "data") });
      const driver = await h.driver();
      const task = await h.prepare("sh", ["-c", "read x <go; seq 1 20000; exit 7"]);
      await new Promise((resolve) => spawn("mkfifo", [join(task.config.allocDir, "t", "go")]).once("exit", resolve));
      const { handle } = await driver.startTask(task.config);
      await new Promise((resolve) =>
        spawn("sh", ["-c", `cat /dev/zero >'${root}/filler'`], { stdio: "ignore" }).once("exit", resolve),
      );
      writeFileSync(join(task.config.allocDir, "t", "go"), "\n");
      await h.killDriver();
      await pause(300);
      const waiting = (await h.driver(1)).waitTask(task.config.id);
      await pause(500);
      rmSync(join(root, "filler"));
      expect(await waiting).toMatchObject({ exitCode: 7, signal: 0 });
      expect(task.stdout()).toBe(lines(20_000));
      await (await h.driver()).destroyTask(handle.config.id, false);
    } finally {
      await h.drivers[Symbol.asyncDispose]();
      try {
        process.kill(h.driverPid(), "SIGKILL");
      } catch {
        // gone
      }
      await pause(100);
      await new Promise((resolve) => spawn("umount", ["-l", root], { stdio: "ignore" }).once("exit", resolve));
      rmSync(root, { recursive: true, force: true });
    }
  });

  it("works in a folder whose path is longer than a unix socket address", async () => {
    const top = mkdtempSync(join(tmpdir(), "outrider-deep-"));
    const deep = join(top, "a folder with spaces and 'quotes'".repeat(3), "b".repeat(60));
    mkdirSync(deep, { recursive: true });
    h = await startHarness({ dataDir: deep });
    const driver = await h.driver();
    const task = await h.prepare("sh", ["-c", "pwd"]);
    await driver.startTask(task.config);
    expect(await driver.waitTask(task.config.id)).toMatchObject({ exitCode: 0 });
    expect(task.stdout()).toBe(`${join(task.config.allocDir, "t")}\n`);
    await driver.destroyTask(task.config.id, false);
    await h.close();
    rmSync(top, { recursive: true, force: true });
  });
});
