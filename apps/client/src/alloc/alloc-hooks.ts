import type { AllocHook } from "@outrider/alloc-runner";
import type { AllocHookContext } from "./alloc-hook-context.ts";
import { allocDirHook } from "./hooks/alloc-dir-hook.ts";
import { allocHealthWatcherHook } from "./hooks/alloc-health-watcher-hook.ts";
import { awaitPreviousHook } from "./hooks/await-previous-hook.ts";
import { checksHook } from "./hooks/checks-hook.ts";
import { groupServicesHook } from "./hooks/group-services-hook.ts";
import { maxRunDurationHook } from "./hooks/max-run-duration-hook.ts";

/** The hooks of an allocation in Nomad's order (client-runtime.md 3.2); only those that do something here. */
export function allocHooks(c: AllocHookContext): readonly AllocHook[] {
  const { clock, prevAllocs, extraAllocHooks, logger } = c.config;
  return [
    allocDirHook(c.allocDir),
    maxRunDurationHook({ alloc: c.alloc, clock, onExceeded: c.onMaxRunExceeded }),
    ...(prevAllocs === undefined ? [] : [awaitPreviousHook({ prevAllocs, allocDir: c.allocDir, logger })]),
    allocHealthWatcherHook(c),
    groupServicesHook(c),
    checksHook(c.checks, c.alloc),
    ...(extraAllocHooks ?? []),
  ];
}
