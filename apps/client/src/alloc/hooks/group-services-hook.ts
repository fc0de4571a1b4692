import type { AllocHook } from "@outrider/alloc-runner";
import { sleep } from "@outrider/backoff";
import { nsToMs, TASK_EVENT } from "@outrider/nomad-structs";
import { findGroup } from "../../task/task-lookup.ts";
import type { AllocHookContext } from "../alloc-hook-context.ts";

/** The group's own services have this owner. */
const GROUP = "";

/** Lists the group's services; at the end takes them off and waits the group's `shutdown_delay` before any task is touched. */
export function groupServicesHook(
  c: Pick<AllocHookContext, "alloc" | "config" | "services" | "tellLiving" | "skipShutdownDelay">,
): AllocHook {
  let delayed = false;
  return {
    name: "group_services",
    prerun: (env) => c.services?.add(GROUP, (text) => env.replace(text)),
    update: ({ env }) => c.services?.add(GROUP, (text) => env.replace(text)),
    async preKill() {
      await c.services?.remove(GROUP);
      const delayNs = findGroup(c.alloc())?.ShutdownDelay ?? 0;
      // Once (hashicorp/nomad#25157), and told (hashicorp/nomad#26829).
      if (delayed || delayNs <= 0 || c.skipShutdownDelay.aborted) return;
      delayed = true;
      if (!c.tellLiving({ type: TASK_EVENT.waitingShutdownDelay, facts: { shutdownDelayNs: delayNs } })) return;
      await sleep(nsToMs(delayNs), { clock: c.config.clock, signal: c.skipShutdownDelay }).catch(() => undefined);
    },
    postrun: () => c.services?.remove(GROUP),
    shutdown: () => c.services?.close(),
    destroy: async () => {
      await c.services?.remove(GROUP);
      c.services?.close();
    },
  };
}
