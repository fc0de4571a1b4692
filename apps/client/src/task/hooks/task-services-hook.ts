import type { TaskHook } from "@outrider/alloc-runner";
import type { AllocServices } from "../../alloc/services/alloc-services.ts";

/** Lists the task's services while it runs. */
export function taskServicesHook(services: AllocServices, task: string): TaskHook {
  const remove = (): Promise<void> => services.remove(task);
  let listed = false;
  return {
    name: "task_services",
    poststart({ env }) {
      listed = true;
      return services.add(task, (text) => env.replace(text));
    },
    update: ({ env }) => (listed ? services.add(task, (text) => env.replace(text)) : undefined),
    preKilling() {
      listed = false;
      return remove();
    },
    exited() {
      listed = false;
      return remove();
    },
    stop: remove,
  };
}
