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

const ways = [
  ["by the kernel", {}],
  ["by the file alone", { flock: undefined }],
  ["where the program is missing", { flock: "/nonexistent/flock" }],
] as const;

describe.each(ways)("folder lock %s", (_name, o) => {
  it("is held once, names its owner, and is free after release", async () => {
    const lock = await lockDir(dir, o);
    await expect(lockDir(dir, o)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_LOCKED",
      details: { pid: process.pid },
    });
    await lock[Symbol.asyncDispose]();
    expect(readdirSync(dir)).toEqual(["lock.held"]);
    await using again = await lockDir(dir, o);
    expect(again).toBeDefined();
  });

  it.each([
    ["of a process that is gone", { pid: 2 ** 22 - 1, startTime: "1", bootId: readBootId() }],
    ["of another process with the same id", { ...selfIdentity(), startTime: "1" }],
    ["of another boot", { ...selfIdentity(), bootId: "00000000-0000-0000-0000-000000000000" }],
  ])("takes over a lock %s", async (_kind, owner) => {
    writeFileSync(join(dir, "lock"), JSON.stringify(owner));
    await using lock = await lockDir(dir, o);
    expect(lock).toBeDefined();
    expect(JSON.parse(readFileSync(join(dir, "lock"), "utf8"))).toEqual(selfIdentity());
  });

  it.each(["", "[]", '{"pid":"x"}'])("takes over an unreadable lock %j", async (text) => {
    writeFileSync(join(dir, "lock"), text);
    await using lock = await lockDir(dir, o);
    expect(lock).toBeDefined();
  });
});

describe("folder lock", () => {
  it("gives a stale lock to exactly one of many that race for it", async () => {
    for (let round = 0; round < 5; round++) {
      writeFileSync(join(dir, "lock"), JSON.stringify({ pid: 1, startTime: "nobody", bootId: "x" }));
      const results = await Promise.allSettled(Array.from({ length: 12 }, () => lockDir(dir)));
      const winners = results.filter((r) => r.status === "fulfilled");
      expect(winners).toHaveLength(1);
      await winners[0]!.value[Symbol.asyncDispose]();
    }
  });

  it("is not inherited by children that outlive its owner's interest", async () => {
    const lock = await lockDir(dir);
    const child = spawn("/bin/sleep", ["60"]);
    await lock[Symbol.asyncDispose]();
    await using again = await lockDir(dir);
    expect(again).toBeDefined();
    child.kill("SIGKILL");
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
