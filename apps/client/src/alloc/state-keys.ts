/** Where the state of one allocation is kept (client-runtime.md 8). */
export function allocKeys(allocId: string): {
  readonly prefix: string;
  readonly alloc: string;
  readonly deployStatus: string;
  readonly networkStatus: string;
  readonly acknowledgedState: string;
  /** Set once it was decided what becomes of the previous allocation's disk. */
  readonly diskDecided: string;
  task(name: string): { readonly taskState: string; readonly localState: string };
} {
  const prefix = `allocations/${allocId}/`;
  return {
    prefix,
    alloc: `${prefix}alloc`,
    deployStatus: `${prefix}deploy_status`,
    networkStatus: `${prefix}network_status`,
    acknowledgedState: `${prefix}acknowledged_state`,
    diskDecided: `${prefix}disk_decided`,
    task: (name) => ({
      taskState: `${prefix}task-${name}/task_state`,
      localState: `${prefix}task-${name}/local_state`,
    }),
  };
}
