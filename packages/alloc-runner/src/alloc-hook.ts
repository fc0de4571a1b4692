import type { Allocation } from "@outrider/nomad-structs";

/**
 * A view of an allocation's environment, made anew for each call. Hooks neither keep nor change it.
 * @public
 */
export interface HookEnv {
  /** Variables by name, frozen. */
  readonly all: Readonly<Record<string, string>>;
  /** Replaces `${…}`; what is unknown stays as it is. */
  replace(text: string): string;
}

/**
 * Work around the life of an allocation. Everything but the name is optional.
 *
 * The order of hooks is the order of their list; `postrun`, `preKill` and `destroy` are tried for all hooks even when some fail.
 * @public
 */
export interface AllocHook {
  readonly name: string;
  /** Before the first task, when the allocation should run at all. A failure ends the list and fails the allocation. Runs again after a restart of the client. */
  prerun?(env: HookEnv, signal: AbortSignal): Promise<void> | void;
  /** A new, non-terminal server version. At any time, also beside the others; failures are logged only. */
  update?(request: { readonly alloc: Allocation; readonly env: HookEnv }): Promise<void> | void;
  /** The whole allocation is about to be stopped, or its last task ended by itself. May be called several times: idempotent. */
  preKill?(): Promise<void> | void;
  /** Before tasks are restarted together. The result is ignored. */
  preTaskRestart?(): Promise<void> | void;
  /** After the end of all tasks, also when none ever ran; not at a shutdown. */
  postrun?(): Promise<void> | void;
  /** The allocation is being deleted from this node. */
  destroy?(): Promise<void> | void;
  /** The client process is about to exit; tasks live on. */
  shutdown?(): Promise<void> | void;
}
