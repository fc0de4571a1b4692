/** Who may enter a directory. @public */
export interface DirAccess {
  readonly mode: number;
  /** Default: stays with the process. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}
