/** A mount as /proc/self/mountinfo tells it. @public */
export interface MountEntry {
  readonly target: string;
  readonly type: string;
}

/** What the local layout needs of mounts. The default calls mount(8) and umount(8); a client may give a native one. @public */
export interface Mounter {
  /** A tmpfs without exec on a directory. */
  mountTmpfs(target: string, sizeMB: number): Promise<void>;
  /** Takes the topmost mount off a directory; `lazy` detaches it even when busy. Rejects with code EBUSY when busy. */
  unmount(target: string, o?: { readonly lazy?: boolean }): Promise<void>;
  /**
   * Shows a directory at another one, without the mounts below it, without set-user-id and, if asked for, read-only. Fails, with nothing mounted, if
   * a flag does not take effect or the mount stands elsewhere. Only needed for isolation `unveil`.
   */
  bind?(source: string, target: string, o?: { readonly readOnly?: boolean }): Promise<void>;
  /** The mounts at or below a directory, in this process's namespace, oldest first. */
  list(below: string): Promise<MountEntry[]>;
}
