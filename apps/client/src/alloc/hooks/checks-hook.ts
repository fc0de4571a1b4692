import type { AllocHook } from "@outrider/alloc-runner";
import type { Allocation } from "@outrider/nomad-structs";
import type { AllocChecks } from "../checks/alloc-checks.ts";

/** Runs the native service checks while the allocation lives. */
export function checksHook(checks: AllocChecks, alloc: () => Allocation): AllocHook {
  return {
    name: "checks_hook",
    prerun: (env) => checks.start(alloc(), (text) => env.replace(text)),
    update: ({ alloc: next, env }) => checks.start(next, (text) => env.replace(text)),
    preKill: () => checks.stop(),
    postrun: () => checks.stop(),
    shutdown: () => checks.stop(),
  };
}
