/**
 * Every kind of hook with the middle part of its metric names. Kinds that both alloc and task hooks have carry the owner in their name here.
 * @public
 */
export const HOOK_KINDS = {
  prerun: "alloc_hook.prerun",
  alloc_update: "alloc_hook.update",
  prekill: "alloc_hook.prekill",
  pretaskrestart: "alloc_hook.pretaskrestart",
  postrun: "alloc_hook.postrun",
  destroy: "alloc_hook.destroy",
  alloc_shutdown: "alloc_hook.shutdown",
  prestart: "task_hook.prestart",
  poststart: "task_hook.poststart",
  prekilling: "task_hook.prekilling",
  exited: "task_hook.exited",
  task_update: "task_hook.update",
  stop: "task_hook.stop",
  task_shutdown: "task_hook.shutdown",
} as const;

/** A kind of hook. @public */
export type HookKind = keyof typeof HOOK_KINDS;

/** The kinds that are measured unless `allKinds` is set: the ones Nomad 2.0 measures. @public */
export const DEFAULT_KINDS: readonly HookKind[] = Object.freeze(["prerun", "prestart"] as const);

/** The three metric names of one kind. @public */
export interface HookMetricNames {
  /** Sample, milliseconds, for success and failure. */
  readonly elapsed: string;
  /** Counter. */
  readonly success: string;
  /** Counter. */
  readonly failed: string;
}

/** The metric names of a kind below a prefix, for example `nomad.client.alloc_hook.prerun.elapsed`. @public */
export function hookMetricNames(kind: HookKind, prefix: string): HookMetricNames {
  const stem = `${prefix}.${HOOK_KINDS[kind]}`;
  return { elapsed: `${stem}.elapsed`, success: `${stem}.success`, failed: `${stem}.failed` };
}
