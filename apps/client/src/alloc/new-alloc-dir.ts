import type { AllocDir } from "@outrider/allocdir-interface";
import { createLocalAllocDir, type LocalAllocDirOptions } from "@outrider/allocdir-interface/local";
import type { Allocation } from "@outrider/nomad-structs";
import { findUser } from "../driver/process-driver/users.ts";
import { allocAccess } from "./alloc-access.ts";

/** Where allocations are. */
export interface AllocDirPlace extends Omit<LocalAllocDirOptions, "allocId" | "access"> {
  /** Called before other users must be able to walk through the folders above. */
  readonly letPass: () => Promise<void>;
}

/** The directory of an allocation on this machine; as root it is closed to everybody whom none of its tasks runs as. */
export function newAllocDir(alloc: Allocation, { letPass, ...o }: AllocDirPlace): AllocDir {
  const asRoot = o.asRoot ?? process.geteuid?.() === 0;
  return createLocalAllocDir({
    ...o,
    allocId: alloc.ID,
    ...(asRoot ? { access: allocAccess(alloc, findUser, letPass) } : {}),
  });
}
