import type { Clock } from "@outrider/backoff";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { MemoryFiles, MemoryLimits } from "./memory-files.ts";
import { MemoryNode, nodesBelow, type NodeKind } from "./memory-node.ts";
import { failure, walk, type WalkOptions } from "./resolve.ts";

const NS_PER_MS = 1_000_000n;

/** The files of an allocation, with what the layout itself needs to do to them. */
export class MemoryTree implements MemoryFiles {
  readOnly = false;
  limits: MemoryLimits = {};
  /** Undefined while there is no allocation. */
  root: MemoryNode | undefined;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a folder and those on the way. */
  mkdir(path: string): void {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    let at = "";
    for (const name of names) {
      at += `/${name}`;
      const found = this.#find(at);
      if (found === undefined) this.make(at, "directory", { mode: 0o755 });
      else if (found.kind !== "directory") throw failure("ENOTDIR", path);
    }
  }

  /** Makes a file, or replaces the content of one. */
  write(path: string, data: string | Uint8Array): void {
    this.#edit(path, (node) => {
      this.#room(path, Buffer.byteLength(data) - node.size, 0);
      node.resize(0);
      node.append(Buffer.from(data));
    });
  }

  append(path: string, data: string | Uint8Array): void {
    this.#edit(path, (node) => {
      this.#room(path, Buffer.byteLength(data), 0);
      node.append(Buffer.from(data));
    });
  }

  truncate(path: string, size: number): void {
    this.#edit(path, (node) => {
      this.#room(path, size - node.size, 0);
      node.resize(size);
    });
  }

  symlink(target: string, path: string): void {
    this.make(path, "symlink", { mode: 0o777, target });
  }

  /** Gives a file a second name. */
  link(existing: string, path: string): void {
    const node = this.#node(existing, false);
    if (node.kind === "directory") throw failure("EPERM", path);
    this.#insert(path, node);
  }

  mkfifo(path: string): void {
    this.make(path, "fifo", { mode: 0o600 });
  }

  /** Leaves a Unix socket at a path. */
  socket(path: string): void {
    this.make(path, "socket", { mode: 0o755 });
  }

  /** Both ends of a fifo. */
  openFifo(path: string): { write(text: string): void; take(): string; close(): void } {
    const node = this.#node(path, true);
    if (node.kind !== "fifo") throw failure("ENXIO", path);
    return { write: (text) => node.append(Buffer.from(text)), take: () => node.take(), close: () => undefined };
  }

  /** Gives another name, replacing a file that has it. */
  rename(from: string, to: string): void {
    const node = this.#node(from, false);
    const [source, sourceName] = this.#parent(from);
    const [target, name] = this.#parent(to);
    this.#writable(to);
    const there = target.children.get(name);
    if (there === node) return;
    if (there?.kind === "directory" && (node.kind !== "directory" || there.children.size > 0))
      throw failure("ENOTEMPTY", to);
    for (const inside of nodesBelow(node)) if (inside === target) throw failure("EINVAL", to);
    if (there !== undefined) there.links--;
    source.children.delete(sourceName);
    target.children.set(name, node);
    this.#changed(source, target);
  }

  /** Deletes a file or a whole folder; nothing there is fine. The root itself takes everything with it. */
  remove(path: string): void {
    const names = path.split("/").filter((name) => name !== "");
    this.#writable(path);
    if (names.length === 0) {
      this.root = undefined;
      return this.#changed();
    }
    if (this.#find(path) === undefined) return;
    const [parent, name] = this.#parent(path);
    for (const node of nodesBelow(parent.children.get(name) as MemoryNode)) node.links--;
    parent.children.delete(name);
    this.#changed(parent);
  }

  chmod(path: string, mode: number): void {
    this.#writable(path);
    this.#node(path, true).mode = mode & 0o7777;
  }

  chown(path: string, uid: number, gid: number): void {
    this.#writable(path);
    Object.assign(this.#node(path, false), { uid, gid });
  }

  /** Sets the time of the last change, epoch ms. */
  touch(path: string, ms: number): void {
    this.#writable(path);
    const whole = Math.floor(ms);
    this.#node(path, true).mtimeNs = BigInt(whole) * NS_PER_MS + BigInt(Math.round((ms - whole) * Number(NS_PER_MS)));
    this.#changed();
  }

  /** Content of a file, or undefined if there is none. Secrets as well: this is not the file API. */
  read(path: string): string | undefined {
    const node = this.#find(path, true);
    return node?.kind === "file" ? node.slice(0, node.size).toString() : undefined;
  }

  /** Whether there is anything at the path; a link counts by itself. */
  exists(path: string): boolean {
    return this.#find(path) !== undefined;
  }

  /** What is at a path. */
  kindOf(path: string): NodeKind {
    return this.#node(path, false).kind;
  }

  owner(path: string): { readonly uid: number; readonly gid: number } {
    const { uid, gid } = this.#node(path, false);
    return { uid, gid };
  }

  /** Makes one node where there is none. */
  make(path: string, kind: NodeKind, o: { readonly mode: number; readonly target?: string }): MemoryNode {
    const node = new MemoryNode(kind, { ...o, mtimeNs: this.#now() });
    this.#insert(path, node);
    return node;
  }

  /** Makes the root. */
  makeRoot(mode: number): void {
    this.#writable("");
    this.root ??= new MemoryNode("directory", { mode, mtimeNs: this.#now() });
    this.root.mode = mode;
    this.#changed();
  }

  /** Puts a folder in another's place, whatever was there. */
  adopt(path: string, node: MemoryNode): void {
    const [parent, name] = this.#parent(path);
    this.#writable(path);
    const nodes = [...nodesBelow(node)];
    this.#room(
      path,
      nodes.reduce((sum, one) => sum + (one.kind === "file" ? one.size : 0), 0),
      nodes.length,
    );
    parent.children.set(name, node);
    this.#changed(parent);
  }

  /** Takes a folder's name away; the folder lives on. */
  release(path: string): void {
    const [parent, name] = this.#parent(path);
    this.#writable(path);
    parent.children.delete(name);
    this.#changed(parent);
  }

  /** Resolves after the next change of anything; rejects with the first signal's reason. */
  changed(signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const off = (): void => {
        this.#waiting.delete(onChange);
        for (const signal of signals) signal.removeEventListener("abort", onAbort);
      };
      const onChange = (): void => {
        off();
        resolve();
      };
      const onAbort = (event: Event): void => {
        off();
        reject((event.target as AbortSignal).reason as Error);
      };
      this.#waiting.add(onChange);
      for (const signal of signals) signal.addEventListener("abort", onAbort);
    });
  }

  /** Tells those who wait, and dates the folders whose entries changed. */
  #changed(...directories: readonly MemoryNode[]): void {
    for (const directory of directories) directory.mtimeNs = this.#now();
    for (const tell of this.#waiting) tell();
  }

  #now(): bigint {
    return BigInt(Math.floor(this.#clock.now())) * NS_PER_MS;
  }

  #writable(path: string): void {
    if (this.readOnly) throw failure("EROFS", path);
  }

  #room(path: string, bytes: number, entries: number): void {
    this.#writable(path);
    const { maxBytes, maxEntries } = this.limits;
    if (this.root === undefined || (maxBytes === undefined && maxEntries === undefined)) return;
    let [usedBytes, usedEntries] = [0, 0];
    for (const node of nodesBelow(this.root)) {
      usedEntries++;
      if (node.kind === "file") usedBytes += node.size;
    }
    const full = (used: number, more: number, most: number | undefined): boolean =>
      more > 0 && used + more > (most ?? Infinity);
    if (full(usedBytes, bytes, maxBytes) || full(usedEntries, entries, maxEntries)) throw failure("ENOSPC", path);
  }

  #insert(path: string, node: MemoryNode): void {
    const [parent, name] = this.#parent(path);
    if (parent.children.has(name)) throw failure("EEXIST", path);
    this.#room(path, 0, 1);
    parent.children.set(name, node);
    node.links++;
    this.#changed(parent);
  }

  #edit(path: string, change: (node: MemoryNode) => void): void {
    this.#writable(path);
    const node = this.#find(path, true) ?? this.make(path, "file", { mode: 0o644 });
    if (node.kind !== "file") throw failure(node.kind === "directory" ? "EISDIR" : "ENXIO", path);
    change(node);
    node.mtimeNs = this.#now();
    this.#changed();
  }

  #parent(path: string): [parent: MemoryNode, name: string] {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    const name = names.pop();
    if (name === undefined || name === "..") throw failure("EINVAL", path);
    const parent = this.#node(names.join("/"), true);
    if (parent.kind !== "directory") throw failure("ENOTDIR", path);
    return [parent, name];
  }

  #node(path: string, follow: boolean): MemoryNode {
    return this.#walk(path, { follow });
  }

  #walk(path: string, o: WalkOptions): MemoryNode {
    if (this.root === undefined) throw failure("ENOENT", path);
    return walk(this.root, path, o).node;
  }

  #find(path: string, follow = false): MemoryNode | undefined {
    try {
      return this.#node(path, follow);
    } catch (reason) {
      if (reason instanceof AllocDirError && reason.code === "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND") return undefined;
      throw reason;
    }
  }
}
