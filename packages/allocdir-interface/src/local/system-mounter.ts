import { execFile } from "node:child_process";
import type { Mounter } from "../mounter.ts";
import { constants, closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { mountOptions, readMountinfo } from "./mountinfo.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const TIMEOUT_MS = 10_000;

/** Runs a program; rejects with code EBUSY when it says that the target is busy. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<void>;

/** Runs a program of the system with its own search path and in English. */
export function runProgram(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" }, timeout: TIMEOUT_MS },
      (error, _out, stderr) => {
        if (error === null) resolve();
        else
          reject(
            Object.assign(new Error(`${program}: ${stderr.trim() || error.message}`), {
              code: /busy/.test(stderr) ? "EBUSY" : "EIO",
            }),
          );
      },
    );
  });
}

/** Mounts by the programs of util-linux or BusyBox. */
export function createSystemMounter(
  run: RunProgram = runProgram,
  readTable: () => Promise<string> = () => readFile("/proc/self/mountinfo", "utf8"),
): Mounter & Required<Pick<Mounter, "bind">> {
  return {
    mountTmpfs: async (target, sizeMB) => {
      const mount = (options: string): Promise<void> => run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", target]);
      // `noswap` exists since Linux 6.4.
      await mount(`noexec,size=${sizeMB}m,noswap`).catch(() => mount(`noexec,size=${sizeMB}m`));
    },
    unmount: (target, o) => run("umount", [...(o?.lazy ? ["-l"] : []), target]),
    bind: (source, target, o) => {
      const optionsOf = async (path: string): Promise<string[][]> => mountOptions(await readTable(), path);
      return bind(run, optionsOf, source, target, o?.readOnly === true);
    },
    list: readMountinfo,
  };
}

/** Flags that a bind takes over from the mount of its source; a later change of flags has to name them again. */
const KEPT = ["ro", "nodev", "noexec", "nosuid"];

/** The kernel ignores flags of the first bind: they are set by a second call, and looked at afterwards. */
async function bind(
  run: RunProgram,
  optionsOf: (path: string) => Promise<string[][]>,
  source: string,
  target: string,
  readOnly: boolean,
): Promise<void> {
  const before = (await optionsOf(target)).length;
  // The directory itself and no name, which a task might turn into a link: programs that resolve names again are caught below.
  const fd = openSync(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const place = `/proc/${process.pid}/fd/${fd}`;
    await run("mount", ["-c", "-o", "bind", source, place]).catch(() => run("mount", ["-o", "bind", source, place]));
  } finally {
    closeSync(fd);
  }
  const made = await optionsOf(target);
  if (made.length !== before + 1) throw new Error(`mount: nothing was mounted on ${target}`);
  try {
    // Else what is mounted or taken off below one of the two directories would be so below the other.
    await run("mount", ["--make-private", target]);
    const kept = KEPT.filter((flag) => made.at(-1)?.includes(flag));
    const wanted = [...new Set([...kept, "nosuid", "noatime", ...(readOnly ? ["ro"] : [])])];
    await run("mount", ["-o", `remount,bind,${wanted.join(",")}`, target]);
    const options = (await optionsOf(target)).at(-1) ?? [];
    const missing = wanted.filter((flag) => !options.includes(flag));
    if (missing.length > 0) throw new Error(`mount: ${missing.join()} did not take effect on ${target}`);
  } catch (reason) {
    await run("umount", [target]);
    throw reason;
  }
}
