import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockDir } from "../../src/state/dir-lock.ts";
import { isAlive, readBootId, readStartTime, selfIdentity } from "../../src/state/process-identity.ts";

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "outrider-lock-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("folder lock", () => {
  it("is held once, names its owner, and is free after release", async () => {
    const lock = await lockDir(dir);
    await expect(lockDir(dir)).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_LOCKED", details: { pid: process.pid } });
    await lock[Symbol.asyncDispose]();
    expect(readdirSync(dir)).toEqual([]);
    await using again = await lockDir(dir);
    expect(again).toBeDefined();
  });

  it.each([
    ["of a process that is gone", { pid: 2 ** 22 - 1, startTime: "1", bootId: readBootId() }],
    ["of another process with the same id", { ...selfIdentity(), startTime: "1" }],
    ["of another boot", { ...selfIdentity(), bootId: "00000000-0000-0000-0000-000000000000" }],
  ])("takes over a lock %s", async (_name, owner) => {
    writeFileSync(join(dir, "lock"), JSON.stringify(owner));
    await using lock = await lockDir(dir);
    expect(lock).toBeDefined();
    expect(JSON.parse(readFileSync(join(dir, "lock"), "utf8"))).toEqual(selfIdentity());
  });

  it("takes over an unreadable lock", async () => {
    writeFileSync(join(dir, "lock"), "");
    await using lock = await lockDir(dir);
    expect(lock).toBeDefined();
  });

  it("gives a stale lock to exactly one of many that race for it", async () => {
    writeFileSync(join(dir, "lock"), JSON.stringify({ pid: 1, startTime: "nobody", bootId: "x" }));
    const self = selfIdentity();
    const results = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => lockDir(dir, { ...self, startTime: i === 0 ? self.startTime : self.startTime })));
    expect(results.filter((r) => r.status === "fulfilled")).toHaveLength(1);
  });

  it("sees a child process live and die", async () => {
    const child = spawn("/bin/sleep", ["60"]);
    const identity = { pid: child.pid!, startTime: readStartTime(child.pid!)!, bootId: readBootId() };
    expect(isAlive(identity)).toBe(true);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    expect(isAlive(identity)).toBe(false);
  });
});
