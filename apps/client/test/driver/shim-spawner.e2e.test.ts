import { noopLogger } from "@outrider/foundation";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readProcStat } from "../../src/driver/process-driver/identity.ts";
import {
  createShimSpawner,
  NativeSpawner,
  NodeSpawner,
  type ShimSpawner,
} from "../../src/driver/process-driver/shim-spawner.ts";
import { until } from "./harness.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-spawner-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const native = createShimSpawner(noopLogger);
const kinds: Array<[string, ShimSpawner]> = [["node", new NodeSpawner()]];
if (native instanceof NativeSpawner) kinds.push(["posix_spawn", native]);
else console.log("koffi is not installed: posix_spawn is not tested");

describe.each(kinds)("a shim started by %s", (_kind, spawner) => {
  it("leads a session in /, with the descriptors that were passed and no signal ignored or blocked", async () => {
    const out = join(folder, "out");
    const fds = [openSync(out, "w"), openSync("/dev/zero", "r")];
    let ended = 0;
    const script = 'read -r s </proc/self/stat; echo "$s"; grep ^Sig /proc/self/status; pwd; env; ls -l /proc/$$/fd';
    const pid = await spawner.spawn("/bin/sh", ["-c", `{ ${script}; } >&3; exit 7`], fds, () => ended++);
    for (const fd of fds) closeSync(fd);
    await until("exit", () => {
      spawner.reap();
      return ended === 1;
    });
    expect(readProcStat(pid)).toBeUndefined();
    const text = readFileSync(out, "utf8");
    const fields = text.split("\n")[0]?.split(" ") ?? [];
    // pid, …, group and session
    expect([fields[0], fields[4], fields[5]]).toEqual([String(pid), String(pid), String(pid)]);
    expect(text).toMatch(/SigBlk:\s+0+\n/);
    expect(text).toMatch(/SigIgn:\s+0+\n/);
    expect(text).toMatch(/^\/$/m);
    expect(text).toContain("PATH=/usr/bin:/bin\n");
    expect(text).not.toContain("HOME=");
    const open = [...text.matchAll(/ ([0-9]+) -> (\S+)/g)].map((match) => `${match[1]} ${match[2]}`);
    expect(open).toEqual(expect.arrayContaining(["0 /dev/null", `1 ${out}`, "2 /dev/null", `3 ${out}`, "4 /dev/zero"]));
    spawner.reap();
    expect(ended).toBe(1);
  });

  it("starts many at a time, each with its own descriptors", async () => {
    let ended = 0;
    const one = async (n: number): Promise<void> => {
      const fds = [openSync(join(folder, `many-${n}`), "w")];
      await spawner.spawn("/bin/sh", ["-c", `echo ${n} $$ >&3`], fds, () => ended++);
      for (const fd of fds) closeSync(fd);
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => one(n)));
    await until("exits", () => {
      spawner.reap();
      return ended === 20;
    });
    const told = Array.from({ length: 20 }, (_, n) =>
      readFileSync(join(folder, `many-${n}`), "utf8")
        .trim()
        .split(" "),
    );
    expect(told.map(([n]) => Number(n))).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(new Set(told.map(([, pid]) => pid)).size).toBe(20);
  });

  it("fails at once when there is no such program", async () => {
    const fd = openSync("/dev/null", "r");
    try {
      const spawned = spawner.spawn(join(folder, "none"), [], [fd], () => undefined);
      await expect(spawned).rejects.toThrow("failed to launch command");
    } finally {
      closeSync(fd);
    }
  });
});
