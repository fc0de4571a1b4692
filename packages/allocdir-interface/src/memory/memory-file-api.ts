import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { AllocFileInfo, FileChange, FileReader } from "../alloc-dir-fs.ts";
import { sniffContentType } from "../content-type.ts";
import type { MemoryTree } from "./memory-tree.ts";
import type { MemoryNode } from "./memory-node.ts";
import { MemoryReader } from "./memory-reader.ts";
import { checkListed, walkOpen, type MemoryPlace } from "./resolve.ts";

const SNIFF_BYTES = 512;
const NOT_FOUND = "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND";

/** The file API on a tree in memory. Every answer is of one moment: nothing changes while a path is walked. */
export class MemoryFileApi {
  readonly #files: MemoryTree;
  readonly #ended: () => AbortSignal;

  constructor(files: MemoryTree, ended: () => AbortSignal) {
    this.#files = files;
    this.#ended = ended;
  }

  list(path: string): AllocFileInfo[] {
    const root = this.#root(path);
    const place = walkOpen(root, path);
    if (place.node.kind !== "directory")
      throw new AllocDirError("NOT_DIRECTORY", `${JSON.stringify(path)}: not a directory`, path);
    checkListed(root, place, path);
    return [...place.node.children]
      .map(([name, node]) => node.info(name))
      .sort((a, b) => Buffer.compare(Buffer.from(a.Name), Buffer.from(b.Name)));
  }

  stat(path: string): AllocFileInfo {
    const { node, name } = this.#walk(path);
    const head = node.kind === "file" ? node.slice(0, SNIFF_BYTES) : Buffer.alloc(0);
    return node.info(name === "" ? "/" : name, sniffContentType(name, head));
  }

  readAt(
    path: string,
    offset: number | bigint,
    o: { readonly limit?: number; readonly signal?: AbortSignal },
  ): FileReader {
    const start = Number(offset);
    if (!Number.isSafeInteger(start) || start < 0)
      throw new AllocDirError("SEEK", `can't seek to offset ${offset}`, path, { details: { offset: String(offset) } });
    o.signal?.throwIfAborted();
    const { node } = this.#walk(path);
    if (node.kind === "directory")
      throw new AllocDirError("IS_DIRECTORY", `file ${JSON.stringify(path)} is a directory`, path);
    if (node.kind !== "file")
      throw new AllocDirError("NOT_REGULAR", `${JSON.stringify(path)} is not a regular file`, path);
    return new MemoryReader(node, start, o.limit, [this.#ended(), ...(o.signal ? [o.signal] : [])]);
  }

  identify(path: string): { readonly identity: string; readonly size: number } | undefined {
    const node = this.#find(path);
    return node && { identity: node.identity, size: node.size };
  }

  async blockUntilExists(path: string, signal: AbortSignal): Promise<void> {
    const signals = [signal, this.#ended()];
    for (;;) {
      for (const one of signals) one.throwIfAborted();
      if (this.#find(path) !== undefined) return;
      await this.#files.changed(signals);
    }
  }

  async *changeEvents(path: string, curOffset: number, signal: AbortSignal): AsyncGenerator<FileChange> {
    const signals = [signal, this.#ended()];
    for (const one of signals) one.throwIfAborted();
    const { node } = this.#walk(path);
    let size = curOffset;
    let time: bigint | undefined;
    for (;;) {
      for (const one of signals) one.throwIfAborted();
      if (this.#find(path) !== node) {
        yield "deleted";
        return;
      }
      const before = size;
      const other = node.mtimeNs !== time || node.size !== before;
      [size, time] = [node.size, node.mtimeNs];
      if (other) yield size < before ? "truncated" : "modified";
      else await this.#files.changed(signals);
    }
  }

  #root(path: string): MemoryNode {
    this.#ended().throwIfAborted();
    const { root } = this.#files;
    if (root === undefined)
      throw new AllocDirError("NOT_BUILT", `${JSON.stringify(path)}: no such file or directory`, path);
    return root;
  }

  #walk(path: string): MemoryPlace {
    try {
      return walkOpen(this.#root(path), path);
    } catch (reason) {
      throw reason === this.#ended().reason ? reason : systemError(reason, path);
    }
  }

  #find(path: string): MemoryNode | undefined {
    try {
      return this.#walk(path).node;
    } catch (reason) {
      if (reason instanceof AllocDirError && reason.code === NOT_FOUND) return undefined;
      throw reason;
    }
  }
}
