import { execFile } from "node:child_process";
import type { Mounter } from "../mounter.ts";
import { readMountinfo } from "./mountinfo.ts";

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
export function createSystemMounter(run: RunProgram = runProgram): Mounter {
  return {
    mountTmpfs: async (target, sizeMB) => {
      const mount = (options: string): Promise<void> => run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", target]);
      // `noswap` exists since Linux 6.4.
      await mount(`noexec,size=${sizeMB}m,noswap`).catch(() => mount(`noexec,size=${sizeMB}m`));
    },
    unmount: (target, o) => run("umount", [...(o?.lazy ? ["-l"] : []), target]),
    list: readMountinfo,
  };
}
