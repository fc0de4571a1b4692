import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { exec, jobOf, Rig, shTask, until } from "./harness.ts";
import { endProcessesBelow, mountsBelow, processesBelow } from "./processes.ts";

const rig = new Rig("restart", { data: "disk/data" });
const disk = join(rig.dir, "disk");
afterAll(async () => {
  await endProcessesBelow(rig.dir);
  await exec("umount", ["-l", disk], process.env);
  rmSync(rig.dir, { recursive: true, force: true });
});

it("alloc restart on a full disk is refused, and the task runs on", async ({ skip }) => {
  mkdirSync(disk);
  if ((await exec("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], process.env)).code !== 0)
    skip("cannot mount a small disk here");
  await rig.start();
  await rig.submit(jobOf("steady", [shTask("t", "echo pid $$; exec sleep 100000")]));
  const { ID } = await rig.alloc("steady", "runs", (a) => a.ClientStatus === "running");
  const output = (): string => readFileSync(join(rig.data, "alloc", ID, "alloc", "logs", "t.stdout.0"), "utf8");
  const before = await until("its pid", () => /^pid \d+\n$/.test(output()) && output());
  await exec("sh", ["-c", `cat /dev/zero >'${disk}/filler'`], process.env);
  const refused = await rig.cli("alloc", "restart", ID);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("no space left")]);
  expect(() => process.kill(Number(/\d+/.exec(before)?.[0]), 0)).not.toThrow();
  rmSync(join(disk, "filler"));
  expect((await rig.cli("alloc", "restart", ID)).code).toBe(0);
  const { Restarts, State } = await rig
    .alloc(
      "steady",
      "was restarted and runs",
      ({ TaskStates }) => TaskStates.t.Restarts > 0 && TaskStates.t.State === "running",
    )
    .then((alloc) => alloc.TaskStates.t);
  expect([Restarts, State]).toEqual([1, "running"]);
  await rig.call("DELETE", "/v1/job/steady?purge=true");
  await until("the end of the task", () => {
    const left = processesBelow(rig.data).filter((p) => p.pid !== rig.agentPid && p.pid !== rig.driverPid);
    return left.length === 0 && mountsBelow(rig.dir).join() === disk;
  });
  expect(await rig.end()).toBe(0);
  await until("the end of the driver process", () => rig.driverPid === 0);
  // The disk goes before the rest of the folder is looked at.
  expect((await exec("umount", [disk], process.env)).code).toBe(0);
  await rig.close();
});
