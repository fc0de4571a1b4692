import type { AllocHook } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";

/** Builds the allocation's folder, takes its mounts off after the last task, and removes it when the allocation is deleted. */
export function allocDirHook(allocDir: AllocDir): AllocHook {
  return {
    name: "alloc_dir",
    prerun: (_env, signal) => allocDir.build({ signal }),
    // Nothing will run here again: secrets need not stay in memory until the folder is collected.
    postrun: () => allocDir.unmountAll(),
    destroy: () => allocDir.destroy(),
  };
}
