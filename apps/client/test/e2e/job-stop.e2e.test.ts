import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanEnv, jobOf, MAIN, Rig, shTask, until } from "./harness.ts";
import { cgroupsOf, descriptorTargets, processesBelow } from "./processes.ts";

let rig: Rig;
beforeEach(async () => {
  rig = new Rig("stop");
  await rig.start();
});
afterEach(() => rig.close());

describe("job stop", () => {
  it("ends every process of every task, also grandchildren in sessions of their own, and removes their cgroups", async () => {
    const node = (await rig.call<any[]>("GET", "/v1/nodes"))[0];
    const members = (await rig.call<any>("GET", `/v1/node/${node.ID}`)).Attributes["driver.raw_exec.members"];
    const byCgroup = String(members).startsWith("cgroup");
    const mark = join(rig.dir, "a mark in the arguments");
    const loop = `'while :; do sleep 1; done'`;
    const script = [
      `sleep 86400 &`,
      `setsid sleep 86400 &`,
      // Twice forked, deaf for all that can be ignored, in a session of its own.
      `(setsid sh -c 'trap "" INT TERM HUP; (sleep 86400 & exec sleep 86400) & while :; do sleep 1; done' &)`,
      // Without the environment that marks it: only a cgroup knows that it belongs to the task.
      ...(byCgroup ? [`(env -i PATH="$PATH" setsid sh -c ${loop} "${mark}" &)`] : []),
      `trap "" INT; while :; do sleep 1; done`,
    ].join("\n");
    const deaf = { KillTimeout: 300_000_000 };
    await rig.submit(
      jobOf("family", [
        shTask("main", script, deaf),
        shTask("side", script, { ...deaf, Lifecycle: { Hook: "prestart", Sidecar: true } }),
      ]),
    );
    await rig.alloc("family", "runs", (alloc) => alloc.ClientStatus === "running");
    const own = (): number[] =>
      processesBelow(rig.dir)
        .map((p) => p.pid)
        .filter((pid) => pid !== rig.agentPid && pid !== rig.driverPid);
    await until("all processes of both tasks", () => own().length >= 2 * (byCgroup ? 7 : 6));
    if (byCgroup) expect(cgroupsOf(join(rig.data, "driver")).length).toBeGreaterThan(0);
    const stopped = await rig.cli("job", "stop", "family");
    expect(stopped.code, stopped.stderr).toBe(0);
    const alloc = await rig.alloc("family", "is complete", (a) => a.ClientStatus === "complete");
    expect([alloc.TaskStates.main.State, alloc.TaskStates.side.State]).toEqual(["dead", "dead"]);
    await until("the end of the supervising shells", () => own().length === 0);
    await until("the cgroups to go", () => cgroupsOf(join(rig.data, "driver")).length === 0);
    expect((await rig.call<any>("GET", "/v1/job/family")).Status).toBe("dead");
  });

  it("ends what a task left behind when it ended by itself", async () => {
    await rig.submit(
      jobOf("leaver", [shTask("t", "setsid sleep 86400 & setsid setsid sleep 86400 & exit 0")], { type: "batch" }),
    );
    await rig.alloc("leaver", "is complete", (alloc) => alloc.ClientStatus === "complete");
    await until("the end of its daemons", () =>
      processesBelow(rig.dir).every((p) => p.pid === rig.agentPid || p.pid === rig.driverPid),
    );
  });

  it("works for one job while others go on", async () => {
    for (const id of ["one", "two"]) await rig.submit(jobOf(id, [shTask("t", "exec sleep 86400")]));
    await rig.alloc("one", "runs", (alloc) => alloc.ClientStatus === "running");
    const two = await rig.alloc("two", "runs", (alloc) => alloc.ClientStatus === "running");
    expect((await rig.cli("job", "stop", "one")).code).toBe(0);
    await rig.alloc("one", "is complete", (alloc) => alloc.ClientStatus === "complete");
    expect((await rig.allocs("two"))[0].TaskStates).toEqual(two.TaskStates);
  });
});

describe("alloc logs -f", () => {
  const LINES = 400_000;

  it("follows live across rotation without a gap, and leaves nothing open in the agent when it ends", async () => {
    const go = join(rig.dir, "go");
    const script = `echo first; until [ -e '${go}' ]; do sleep 0.02; done; i=0; while [ $i -lt ${LINES} ]; do seq $((i + 1)) $((i + 20000)); i=$((i + 20000)); sleep 0.05; done; exec sleep 86400`;
    await rig.submit(
      jobOf("writer", [shTask("t", script, { LogConfig: { MaxFiles: 9, MaxFileSizeMB: 1 } })], {
        group: { EphemeralDisk: { SizeMB: 50 } },
      }),
    );
    const alloc = await rig.alloc("writer", "runs", (a) => a.ClientStatus === "running");
    const quiet = openLogs().length;
    await until("an agent without clients", () => rig.clients() === 0);
    const follower = spawn(process.execPath, [MAIN, "alloc", "logs", "-f", alloc.ID], {
      cwd: rig.dir,
      env: cleanEnv(rig.cliEnv()),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    follower.stdout.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    await until("the first line", () => text === "first\n");
    writeFileSync(go, "");
    await rig.soon("the second line", () => text.length > 6, 3000);
    await until("all lines", () => text.endsWith(`\n${LINES}\n`));
    const expected = `first\n${Array.from({ length: LINES }, (_, i) => `${i + 1}\n`).join("")}`;
    expect(text.length).toBe(expected.length);
    expect(text === expected).toBe(true);
    const files = readdirSync(join(rig.data, "alloc", alloc.ID, "alloc", "logs"));
    expect(files.filter((name) => /^t\.stdout\.\d+$/.test(name)).length).toBeGreaterThanOrEqual(3);
    await until("no client but the follower", () => rig.clients() === 1);
    const ended = new Promise((resolve) => follower.once("exit", (code, signal) => resolve(code ?? signal)));
    follower.kill("SIGINT");
    await rig.soon("the agent lets go", () => openLogs().length <= quiet && rig.clients() === 0, 1500);
    expect(await ended).toBe(0);
  });

  it("gives its place back within a second when the connection just vanishes", async () => {
    await rig.submit(jobOf("quiet", [shTask("t", "echo once; exec sleep 86400")]));
    const alloc = await rig.alloc("quiet", "runs", (a) => a.ClientStatus === "running");
    await until("an agent without clients", () => rig.clients() === 0);
    const quiet = openLogs().length;
    const followers = await Promise.all(
      Array.from(
        { length: 20 },
        () =>
          new Promise<ReturnType<typeof request>>((resolve, reject) => {
            const r = request(
              { ...rig.address, path: `/v1/client/fs/logs/${alloc.ID}?task=t&type=stdout&follow=true`, agent: false },
              (answer) => {
                answer.on("error", () => undefined);
                answer.once("data", () => resolve(r));
              },
            );
            r.once("error", reject);
            r.end();
          }),
      ),
    );
    expect(rig.clients()).toBeGreaterThanOrEqual(20);
    for (const follower of followers) {
      follower.removeAllListeners("error").on("error", () => undefined);
      follower.destroy();
    }
    await rig.soon("the agent lets go", () => openLogs().length <= quiet && rig.clients() === 0, 1500);
  });

  function openLogs(): string[] {
    return descriptorTargets(rig.agentPid).filter((target) => target.includes("/alloc/logs/"));
  }
});
