import type { AllocHook } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";

/** Builds the allocation's folder, and removes it when the allocation is deleted. */
export function allocDirHook(allocDir: AllocDir): AllocHook {
  return {
    name: "alloc_dir",
    prerun: (_env, signal) => allocDir.build({ signal }),
    destroy: () => allocDir.destroy(),
  };
}
