import type { MountEntry, Mounter } from "../src/index.ts";

const last = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Mounts that exist only in a list; `busy` targets resist until detached lazily, `stuck` resists always. */
export class FakeMounter implements Mounter {
  readonly mounts: MountEntry[] = [];
  readonly calls: string[] = [];
  readonly busy = new Set<string>();
  stuck = false;

  get targets(): string[] {
    return this.mounts.map((m) => m.target);
  }

  add(...targets: string[]): void {
    for (const target of targets) this.mounts.push({ target, type: "tmpfs" });
  }

  mountTmpfs(target: string, sizeMB: number): Promise<void> {
    this.calls.push(`tmpfs ${last(target)} ${sizeMB}`);
    this.mounts.push({ target, type: "tmpfs" });
    return Promise.resolve();
  }

  /** Fails at this bind, counted from 0. */
  failingBind = -1;
  #binds = 0;

  bind(source: string, target: string): Promise<void> {
    if (this.#binds++ === this.failingBind) return Promise.reject(new Error("the disk says no"));
    this.calls.push(`bind ${last(source)}`);
    this.mounts.push({ target, type: "ext4" });
    return Promise.resolve();
  }

  unmount(target: string, o?: { readonly lazy?: boolean }): Promise<void> {
    if (this.stuck || (this.busy.has(target) && !o?.lazy))
      return Promise.reject(Object.assign(new Error("busy"), { code: "EBUSY" }));
    const at = this.targets.lastIndexOf(target);
    if (at >= 0) this.mounts.splice(at, 1);
    this.calls.push(`unmount ${last(target)}${o?.lazy ? " lazy" : ""}`);
    return Promise.resolve();
  }

  list(below: string): Promise<MountEntry[]> {
    return Promise.resolve(this.mounts.filter((m) => m.target === below || m.target.startsWith(`${below}/`)));
  }
}
