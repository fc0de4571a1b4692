/** What a path means now, as far as watchers care. */
export interface Look {
  readonly identity: string;
  readonly size: number;
  readonly mtimeNs: bigint;
}
