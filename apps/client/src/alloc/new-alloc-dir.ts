import type { AllocDir } from "@outrider/allocdir-interface";
import { createLocalAllocDir, type LocalAllocDirOptions } from "@outrider/allocdir-interface/local";
import type { Allocation } from "@outrider/nomad-structs";
import { findUser } from "../driver/process-driver/users.ts";
import { allocAccess } from "./alloc-access.ts";

/** The directory of an allocation on this machine; as root it is closed to everybody whom none of its tasks runs as. */
export function newAllocDir(alloc: Allocation, o: Omit<LocalAllocDirOptions, "allocId" | "access">): AllocDir {
  const asRoot = o.asRoot ?? process.geteuid?.() === 0;
  return createLocalAllocDir({
    ...o,
    allocId: alloc.ID,
    ...(asRoot ? { access: allocAccess(alloc, findUser) } : {}),
  });
}
