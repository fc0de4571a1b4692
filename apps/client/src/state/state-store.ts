/** One change set; all of it is durable, or none. Values are plain JSON and copied in. Prefixes go first, then deletes, then puts. */
export interface StateBatch {
  readonly put?: Readonly<Record<string, unknown>>;
  readonly delete?: readonly string[];
  /** Deletes every key that starts with one of these. */
  readonly deletePrefix?: readonly string[];
  /** Set for what must not be lost on a full disk (terminal states): the 64 kB reserve may be spent on it. */
  readonly urgent?: boolean;
}

/**
 * Small durable key-value state. Reads come from memory; a write resolves after fdatasync, and only then do reads see it.
 * Keys are `/`-separated paths (`allocations/<id>/task-<name>/task_state`, client-runtime.md 8).
 */
export interface StateStore extends AsyncDisposable {
  /** A fresh copy of the value, or undefined. */
  get<T>(key: string): T | undefined;
  /** Entries below a prefix, sorted by key. */
  list<T>(prefix: string): Array<[key: string, value: T]>;
  /** Rejects with ERR_OUTRIDER_STATE_… (ENOSPC is recoverable: nothing was changed). */
  write(batch: StateBatch): Promise<void>;
  /** Damaged records that were set aside at open, for the log and `agent` status. */
  readonly quarantined: readonly { readonly offset: number; readonly reason: string }[];
}
