import { createSystemMounter } from "@outrider/allocdir-interface/local";
import type { Mounter } from "@outrider/allocdir-interface";
import type { Logger } from "@outrider/foundation";
import { constants } from "node:os";
import { loadKoffi, type Koffi } from "../logs/load-koffi.ts";

const MS_NOEXEC = 8;
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;

/**
 * Mounts by system call where koffi is installed: a start and an end of a task then cost no programs. Elsewhere by mount(8).
 */
export function createNativeMounter(logger: Logger): Mounter {
  const system = createSystemMounter();
  let koffi: Koffi;
  try {
    koffi = loadKoffi();
  } catch (reason) {
    logger.debug({ err: reason }, "koffi is not available: mounting by programs");
    return system;
  }
  const libc = koffi.load(null);
  const mount = libc.func(
    "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
  );
  const umount2 = libc.func("int umount2(const char *target, int flags)");
  const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));
  const check = (what: string, result: number): void => {
    if (result === 0) return;
    const code = names.get(koffi.errno()) ?? "EIO";
    throw Object.assign(new Error(`${what}: ${code}`), { code });
  };
  return {
    mountTmpfs: (target, sizeMB) => {
      const once = (data: string): void => check("mount tmpfs", mount("tmpfs", target, "tmpfs", MS_NOEXEC, data));
      try {
        once(`size=${sizeMB}m,noswap`);
      } catch {
        // `noswap` exists since Linux 6.4.
        once(`size=${sizeMB}m`);
      }
      return Promise.resolve();
    },
    // The kernel waits for a grace period here: in the thread pool it holds up nobody.
    unmount: (target, o) =>
      new Promise((resolve, reject) => {
        umount2.async(target, UMOUNT_NOFOLLOW | (o?.lazy ? MNT_DETACH : 0), (error: Error | null, result: number) => {
          if (error !== null) reject(error);
          else if (result === 0) resolve();
          // errno belongs to the pool's thread: what failed is asked of the program, which says why.
          else system.unmount(target, o).then(resolve, reject);
        });
      }),
    list: (below) => system.list(below),
  };
}
