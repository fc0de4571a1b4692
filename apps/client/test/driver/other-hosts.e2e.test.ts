import { encode } from "@msgpack/msgpack";
import type { TaskConfig } from "@outrider/plugin-driver";
import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { alive, pause, until } from "./harness.ts";
import { NodeSpawner } from "../../src/driver/process-driver/shim-spawner.ts";
import { type LocalDriver, makeLocalDriver } from "./local-driver.ts";

let local: LocalDriver;
afterEach(() => local.close());

function task(script: string, more: Partial<TaskConfig> = {}): TaskConfig {
  const allocId = randomBytes(16).toString("hex");
  const allocDir = join(local.folder, allocId);
  mkdirSync(join(allocDir, "t"), { recursive: true });
  return {
    id: `${allocId}/t/${randomBytes(4).toString("hex")}`,
    name: "t",
    jobId: "",
    jobName: "",
    taskGroupName: "",
    allocId,
    namespace: "",
    nodeId: "",
    nodeName: "",
    parentJobId: "",
    msgpackDriverConfig: encode({ command: "/bin/sh", args: ["-c", script] }),
    env: { PATH: process.env["PATH"] ?? "" },
    deviceEnv: {},
    mounts: [],
    devices: [],
    user: "",
    allocDir,
    stdoutPath: "/dev/null",
    stderrPath: "/dev/null",
    ...more,
  };
}

async function outcome(script: string): Promise<string> {
  const config = task(script);
  await local.driver.startTask(config);
  const { exitCode, signal } = await local.driver.waitTask(config.id);
  await local.driver.destroyTask(config.id, false);
  return `${exitCode}/${signal}`;
}

describe.each(["/bin/bash", "/bin/busybox"])("a machine whose sh is %s", (path) => {
  it.skipIf(!existsSync(path))("tells exit codes and signals apart and starts in the task's own group", async () => {
    // by that name: a shell that is many programs goes by it, and bash behaves differently
    const folder = mkdtempSync(join(tmpdir(), "outrider-sh-"));
    symlinkSync(path, join(folder, "sh"));
    local = makeLocalDriver({ tools: { shell: join(folder, "sh"), shellIsBash: path.endsWith("bash") } });
    const seen = await Promise.all(
      [
        "exit 0",
        "exit 3",
        "exit 137",
        "kill -9 $$",
        "kill -2 $$; sleep 5",
        "kill -34 $$; sleep 5",
        "echo $$ >pid; ps -o pgid= $$ >pgid; exit 5",
      ].map(outcome),
    );
    expect(seen).toEqual(["0/0", "3/0", "137/0", "137/9", "130/2", "162/34", "5/0"]);
    rmSync(folder, { recursive: true });
  });
});

/** The mount point of the unified hierarchy, beside those of version 1 on many machines; `undefined` when nothing can be made there. */
function unifiedHierarchy(): string | undefined {
  const point = /^\S+ (\S+) cgroup2 /m.exec(readFileSync("/proc/mounts", "utf8"))?.[1];
  try {
    accessSync(join(point ?? "", "cgroup.procs"), constants.W_OK);
    return point;
  } catch {
    console.log("no writable cgroup hierarchy of version 2: its ways of ending tasks are tried on made-up files only");
    return undefined;
  }
}

describe("a machine with cgroups of version 2", () => {
  const unified = unifiedHierarchy();

  it.skipIf(unified === undefined)(
    "keeps a task's processes together and ends them all, also one that changed its session and its environment",
    async () => {
      local = makeLocalDriver({ cgroups: { mode: "v2", members: unified as string, controllers: {} } });
      const config = task(
        "(setsid env -i sh -c 'echo $$ >daemon; exec sleep 1000' &); while [ ! -s daemon ]; do sleep 0.02; done; exit 9",
      );
      const daemon = (): number => Number(readFileSync(join(config.allocDir, config.name, "daemon"), "utf8"));
      await local.driver.startTask(config);
      expect(await local.driver.waitTask(config.id)).toMatchObject({ exitCode: 9, signal: 0, oomKilled: false });
      await until("the end of the daemon", () => !alive(daemon()));
      await local.driver.destroyTask(config.id, false);
      const stopped = task("(setsid env -i sh -c 'exec sleep 1000' &); trap '' INT; while :; do sleep 0.1; done");
      await local.driver.startTask(stopped);
      const folder = join(unified as string, "outrider");
      const list = (): string[] =>
        readdirSync(folder, { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith("cgroup.procs"))
          .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
          .filter((pid) => pid !== "");
      await until("the shell and its daemon", () => list().length >= 2);
      const members = list();
      await local.driver.stopTask(stopped.id, 100, "SIGINT");
      expect(members.map(Number).filter(alive)).toEqual([]);
      await local.driver.destroyTask(stopped.id, false);
      expect(existsSync(folder)).toBe(false);
    },
  );
});

describe("a machine without a foreign function interface", () => {
  it("starts tasks by Node itself", async () => {
    local = makeLocalDriver({ spawner: new NodeSpawner() });
    expect(await Promise.all(["exit 0", "exit 137", "kill -9 $$"].map(outcome))).toEqual(["0/0", "137/0", "137/9"]);
  });
});

describe("a machine without writable cgroups", () => {
  it("finds daemons by their environment and ends them with the task, but not other tasks", async () => {
    local = makeLocalDriver({ cgroups: { mode: "none", controllers: {} } });
    const other = task("sleep 1000");
    await local.driver.startTask(other);
    const config = task(
      "(setsid sh -c 'echo $$ >daemon; exec sleep 1000' &) ; while [ ! -s daemon ]; do sleep 0.02; done; sleep 1000",
    );
    await local.driver.startTask(config);
    const file = join(config.allocDir, "t", "daemon");
    await until("daemon", () => existsSync(file) && readFileSync(file, "utf8") !== "");
    const daemon = Number(readFileSync(file, "utf8"));
    expect(alive(daemon)).toBe(true);
    await local.driver.stopTask(config.id, 2_000, "SIGTERM");
    expect(alive(daemon)).toBe(false);
    expect(await local.driver.waitTask(config.id)).toMatchObject({ exitCode: 143, signal: 15 });
    expect((await local.driver.inspectTask(other.id)).status.state).toBe("running");
    for (const id of [config.id, other.id]) await local.driver.destroyTask(id, true);
    for await (const report of local.driver.fingerprint(AbortSignal.timeout(5_000))) {
      expect(report.attributes["driver.raw_exec.members"]).toEqual({ value: "marker" });
      break;
    }
  });

  it("also ends what a handle points to when the folder was lost", async () => {
    local = makeLocalDriver({ cgroups: { mode: "none", controllers: {} } });
    const config = task("sleep 1000");
    const { handle } = await local.driver.startTask(config);
    const pid = Number((await local.driver.inspectTask(config.id)).status.attributes["pid"]);
    local.supervisor.close();
    const lost = local;
    for (const part of ["slots", "tasks"]) rmSync(join(lost.folder, part), { recursive: true });
    const driver = local.again();
    await expect(driver.recoverTask(handle)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    await until("ended", () => !alive(pid));
  });
});

describe("an agent that was killed before it wrote a start down", () => {
  it("does not leave that run beside the next one", async () => {
    local = makeLocalDriver();
    const config = task("sleep 1000");
    await local.driver.startTask(config);
    const pid = Number((await local.driver.inspectTask(config.id)).status.attributes["pid"]);
    const sibling = { ...config, id: config.id.replace("/t/", "/tt/"), name: "t" };
    await local.driver.startTask(sibling);
    const next = { ...config, id: `${config.id.slice(0, -8)}ffffffff` };
    await local.driver.startTask(next);
    expect(alive(pid)).toBe(false);
    await expect(local.driver.waitTask(config.id)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND",
    });
    expect((await local.driver.inspectTask(sibling.id)).status.state).toBe("running");
    for (const { id } of [next, sibling]) await local.driver.destroyTask(id, true);
  });
});

describe("a machine that was restarted", () => {
  it("keeps recorded exits and forgets runs whose end nobody saw", async () => {
    local = makeLocalDriver();
    const [ended, running] = [task("exit 6"), task("sleep 1000")];
    const handles = await Promise.all([ended, running].map((config) => local.driver.startTask(config)));
    await local.driver.waitTask(ended.id);
    const pid = Number((await local.driver.inspectTask(running.id)).status.attributes["pid"]);
    local.supervisor.close();
    const tasks = join(local.folder, "tasks");
    for (const name of readdirSync(tasks)) {
      const path = join(tasks, name);
      writeFileSync(path, readFileSync(path, "utf8").replace(/"bootId":"[^"]+"/, '"bootId":"of-yesterday"'));
    }
    const driver = local.again();
    expect(await driver.waitTask(ended.id)).toMatchObject({ exitCode: 6 });
    const forgotten = handles[1]?.handle;
    if (forgotten === undefined) throw new Error("no handle");
    const foreign = {
      ...forgotten,
      driverState: Buffer.from(
        Buffer.from(forgotten.driverState)
          .toString()
          .replace(/"bootId":"[^"]+"/, '"bootId":"of-yesterday"'),
      ),
    };
    await expect(driver.recoverTask(foreign)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    await pause(100);
    expect(alive(pid)).toBe(true);
    await expect(driver.recoverTask(forgotten)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    await until("ended", () => !alive(pid));
    await driver.destroyTask(ended.id, false);
  });
});
