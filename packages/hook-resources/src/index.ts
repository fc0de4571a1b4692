export type { DeepReadonly } from "./deep-readonly.ts";
export { HookResourcesError, type HookResourcesErrorCode } from "./error.ts";
export { MAX_DEPTH } from "./frozen-copy.ts";
export {
  createHookResources,
  MAX_UPDATE_RUNS,
  type HookResources,
  type HookResourcesOptions,
  type Writable,
} from "./hook-resources.ts";
export type { ChangeListener } from "./notifier.ts";
