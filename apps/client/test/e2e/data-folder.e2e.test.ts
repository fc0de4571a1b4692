import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanEnv, exec, jobOf, MAIN, Rig, type RigOptions, shTask, until } from "./harness.ts";
import { alive } from "./processes.ts";

let rig: Rig;
afterEach(() => rig.close());

function make(o?: RigOptions): void {
  rig = new Rig("folder", o);
}

const agent = (...flags: string[]): ReturnType<typeof exec> =>
  exec(process.execPath, [MAIN, "agent", "-data-dir", rig.data, ...flags], cleanEnv());

describe("the data folder of an agent", () => {
  it("is private, and refuses a second agent while the first one lives, however it ends", async () => {
    make();
    await rig.start();
    expect(statSync(rig.data).mode & 0o777).toBe(0o700);
    for (const part of ["server", "client", "driver"]) expect(statSync(join(rig.data, part)).mode & 0o077).toBe(0);
    const second = await agent("-port", "0");
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(rig.data);
    expect(second.stderr).toMatch(/in use|another|locked/i);
    expect((await rig.call<any[]>("GET", "/v1/nodes")).length).toBe(1);
    await rig.end("SIGKILL");
    await rig.start();
  });

  it("of a newer format is refused and left as it is", async () => {
    make();
    await rig.start();
    expect(await rig.end()).toBe(0);
    writeFileSync(join(rig.data, "format"), "99\n");
    const journal = readFileSync(join(rig.data, "server", "state.journal"));
    const refused = await agent("-port", "0");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("format 99");
    expect(readFileSync(join(rig.data, "server", "state.journal")).equals(journal)).toBe(true);
    writeFileSync(join(rig.data, "format"), "1\n");
  });

  it("is let go when the port is taken, and the error names the option", async () => {
    make();
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    try {
      const refused = await agent("-port", String(port));
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain("-port");
      expect(refused.stderr).toContain(String(port));
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
    await rig.start();
  });

  it("may lie so deep that no unix socket fits beside it", async () => {
    const long = "a folder with a long name ";
    make({ data: join(long.repeat(3), long.repeat(3), "data") });
    expect(rig.data.length).toBeGreaterThan(150);
    await rig.start();
    await rig.submit(jobOf("deep", [shTask("t", "echo in the deep; exec sleep 1000")]));
    await rig.alloc("deep", "runs", (alloc) => alloc.ClientStatus === "running");
    const logs = await until("output", async () => {
      const { stdout } = await rig.cli("alloc", "logs", "-job", "deep");
      return stdout === "" ? undefined : stdout;
    });
    expect(logs).toBe("in the deep\n");
    await rig.killDriver();
    await rig.end("SIGKILL");
    await rig.start();
    await rig.alloc("deep", "runs again", (alloc) => alloc.ClientStatus === "running");
  });
});

describe("the end of an agent", () => {
  it("leaves tasks running, and SIGHUP ends nothing but opens the log anew", async () => {
    make({ flags: (dir) => ["-port", "0", "-log-file", join(dir, "agent.log")] });
    await rig.start();
    await rig.submit(jobOf("stay", [shTask("t", "echo $$ >$NOMAD_TASK_DIR/pid; exec sleep 1000")]));
    const { ID } = await rig.alloc("stay", "runs", (alloc) => alloc.ClientStatus === "running");
    const file = join(rig.data, "alloc", ID, "t", "local", "pid");
    const pid = (): number => (existsSync(file) ? Number(readFileSync(file, "utf8")) : 0);
    const before = await until("a pid", () => pid() > 0 && pid());
    const log = join(rig.dir, "agent.log");
    expect(readFileSync(log, "utf8")).toContain("agent is running");
    renameSync(log, `${log}.1`);
    rig.agent?.kill("SIGHUP");
    await until("a new log file", () => existsSync(log));
    expect(await rig.end("SIGINT")).toBe(0);
    expect(alive(before)).toBe(true);
    await rig.start();
    await rig.alloc("stay", "is known", (alloc) => alloc.ClientStatus === "running");
    expect(await rig.end("SIGTERM")).toBe(0);
    expect([pid(), alive(before)]).toEqual([before, true]);
  });
});
