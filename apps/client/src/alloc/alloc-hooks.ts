import type { AllocHook } from "@outrider/alloc-runner";
import { TASK_EVENT } from "@outrider/nomad-structs";
import type { AllocHookContext } from "./alloc-hook-context.ts";
import { allocDirHook } from "./hooks/alloc-dir-hook.ts";
import { allocHealthWatcherHook } from "./hooks/alloc-health-watcher-hook.ts";
import { awaitPreviousHook } from "./hooks/await-previous-hook.ts";
import { checksHook } from "./hooks/checks-hook.ts";
import { groupServicesHook } from "./hooks/group-services-hook.ts";
import { migrateDiskHook } from "./hooks/migrate-disk-hook.ts";
import { maxRunDurationHook } from "./hooks/max-run-duration-hook.ts";
import { allocKeys } from "./state-keys.ts";

/** The hooks of an allocation in Nomad's order (client-runtime.md 3.2); only those that do something here. */
export function allocHooks(c: AllocHookContext): readonly AllocHook[] {
  const { clock, extraAllocHooks } = c.config;
  return [
    allocDirHook(c.allocDir),
    maxRunDurationHook({ alloc: c.alloc, clock, onExceeded: c.onMaxRunExceeded }),
    ...previousHooks(c),
    allocHealthWatcherHook(c),
    groupServicesHook(c),
    checksHook(c.checks, c.alloc),
    ...(extraAllocHooks ?? []),
  ];
}

function previousHooks(c: AllocHookContext): readonly AllocHook[] {
  const { prevAllocs, state, logger } = c.config;
  if (prevAllocs === undefined) return [];
  const { hasStarted, allocDir } = c;
  const tell = (message: string): void => void c.tellLiving({ type: TASK_EVENT.taskSetup, facts: { message } });
  const key = allocKeys(c.alloc().ID).diskDecided;
  return [
    awaitPreviousHook({ prevAllocs, hasStarted }),
    migrateDiskHook({ prevAllocs, allocDir, state, key, hasStarted, tell, logger }),
  ];
}
