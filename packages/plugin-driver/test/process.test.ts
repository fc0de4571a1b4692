import { describe, expect, it } from "vitest";
import { isAlive, processIdentity, signalProcess } from "../src/host/index.ts";
import { closeInheritedDescriptors } from "../src/serve/index.ts";

const stat = (pid: number, start: string, state = "S", group = pid): string =>
  `${pid} (a ) b) ${state} 1 ${group} ${pid} ${"0 ".repeat(15)}${start} 0`;
const proc =
  (files: Record<string, string>) =>
  (path: string): string | undefined =>
    path.endsWith("boot_id") ? "boot\n" : files[path];

describe("the identity of a process", () => {
  it("is pid, start time and boot", () => {
    const me = processIdentity(process.pid);
    expect(me?.pid).toBe(process.pid);
    expect(me !== undefined && isAlive(me)).toBe(true);
    expect(processIdentity(7, proc({ "/proc/7/stat": stat(7, "99") }))).toEqual({
      pid: 7,
      startTime: "99",
      bootId: "boot",
    });
  });

  it.each([
    [0, "1", "S"],
    [-1, "1", "S"],
    [1.5, "1", "S"],
    [7, "0", "S"],
    [7, "9", "Z"],
    [7, "9", "X"],
  ])("does not exist for pid %d, start %s, state %s", (pid, start, state) => {
    expect(processIdentity(pid, proc({ [`/proc/${pid}/stat`]: stat(pid, start, state) }))).toBeUndefined();
  });

  it("is unknown where there is no /proc", () => {
    expect(processIdentity(7, () => undefined)).toBeUndefined();
    expect(processIdentity(2 ** 30)).toBeUndefined();
  });

  it("protects strangers that got the pid later", () => {
    const sent: number[] = [];
    const kill = (pid: number): void => void sent.push(pid);
    const old = { pid: 7, startTime: "5", bootId: "boot" };
    const read = proc({ "/proc/7/stat": stat(7, "99") });
    expect(signalProcess(old, "SIGKILL", { read, kill })).toBe(false);
    expect(signalProcess({ ...old, startTime: "99", bootId: "other" }, "SIGKILL", { read, kill })).toBe(false);
    expect(sent).toEqual([]);
    expect(signalProcess({ ...old, startTime: "99" }, "SIGKILL", { read, kill, group: true })).toBe(true);
    const follower = proc({ "/proc/7/stat": stat(7, "99", "S", 3) });
    expect(signalProcess({ ...old, startTime: "99" }, "SIGTERM", { read: follower, kill, group: true })).toBe(true);
    expect(sent).toEqual([-7, 7]);
  });

  it("answers false when the signal fails", () => {
    const read = proc({ "/proc/7/stat": stat(7, "99") });
    const kill = (): void => {
      throw new Error("ESRCH");
    };
    expect(signalProcess({ pid: 7, startTime: "99", bootId: "boot" }, "SIGTERM", { read, kill })).toBe(false);
    const me = processIdentity(process.pid);
    // Signal 0 would be no name; SIGCONT changes nothing for a running process.
    expect(me !== undefined && signalProcess(me, "SIGCONT")).toBe(true);
  });
});

describe("descriptors left open by whoever started us", () => {
  it("are closed from 3 on unless they are close-on-exec", () => {
    const closed: number[] = [];
    const calls = {
      list: () => ["0", "2", "3", "4", "5", "6", "x"],
      info: (fd: number) => {
        if (fd === 5) throw new Error("ENOENT");
        return fd === 3 ? "pos:\t0\nflags:\t02000002\n" : fd === 6 ? "no flags" : "flags:\t0100001\n";
      },
      close: (fd: number) => void closed.push(fd),
    };
    expect(closeInheritedDescriptors(calls)).toEqual([4]);
    expect(closed).toEqual([4]);
  });

  it("are left alone where there is no /proc", () => {
    const list = (): string[] => {
      throw new Error("ENOENT");
    };
    expect(closeInheritedDescriptors({ list, info: () => "", close: () => undefined })).toEqual([]);
  });
});
