import type { AllocFileInfo } from "../alloc-dir-fs.ts";
import { fileMode, modTime } from "../file-mode.ts";

/** Kinds of what may be in a tree. */
export type NodeKind = "directory" | "file" | "symlink" | "fifo" | "socket";

/** Size of a directory, as disks tell it. */
const DIRECTORY_BYTES = 4096;

let count = 0;

/** A file, folder, link, fifo or socket that exists only in memory. It may have several names. */
export class MemoryNode {
  readonly kind: NodeKind;
  readonly identity = `memory:${++count}`;
  /** Permission bits, set-id and sticky included. */
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  /** Names that the node has. */
  links = 0;
  /** Of a directory. */
  readonly children = new Map<string, MemoryNode>();
  /** Of a symlink. */
  readonly target: string;
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(
    kind: NodeKind,
    o: {
      readonly mode: number;
      readonly mtimeNs: bigint;
      readonly target?: string;
      readonly uid?: number;
      readonly gid?: number;
    },
  ) {
    this.kind = kind;
    this.mode = o.mode;
    this.mtimeNs = o.mtimeNs;
    this.target = o.target ?? "";
    this.uid = o.uid ?? 0;
    this.gid = o.gid ?? 0;
  }

  get size(): number {
    return this.kind === "directory" ? DIRECTORY_BYTES : this.kind === "symlink" ? this.target.length : this.#size;
  }

  /** A copy of some content. */
  slice(from: number, to: number): Buffer {
    return Buffer.from(this.#bytes.subarray(Math.min(from, this.#size), Math.min(to, this.#size)));
  }

  /** Adds bytes at the end. */
  append(data: Uint8Array): void {
    const size = this.#size + data.length;
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(size, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    this.#bytes.set(data, this.#size);
    this.#size = size;
  }

  /** Cuts the content, or fills it up with zeros. */
  resize(size: number): void {
    if (size > this.#size) this.append(Buffer.alloc(size - this.#size));
    this.#bytes.fill(0, size, this.#size);
    this.#size = size;
  }

  /** Takes all bytes out, as a reader of a fifo does. */
  take(): string {
    const text = this.slice(0, this.#size).toString();
    this.#size = 0;
    return text;
  }

  /** What the file API tells. */
  info(name: string, contentType = ""): AllocFileInfo {
    const is =
      (kind: NodeKind): (() => boolean) =>
      () =>
        this.kind === kind;
    return {
      Name: name,
      IsDir: this.kind === "directory",
      Size: this.size,
      FileMode: fileMode({
        mode: BigInt(this.mode),
        isDirectory: is("directory"),
        isSymbolicLink: is("symlink"),
        isFIFO: is("fifo"),
        isSocket: is("socket"),
        isBlockDevice: () => false,
        isCharacterDevice: () => false,
      }),
      ModTime: modTime(this.mtimeNs),
      ContentType: contentType,
    };
  }
}

/** The node itself, and all below a directory. */
export function* nodesBelow(node: MemoryNode): Generator<MemoryNode> {
  yield node;
  for (const child of node.children.values()) yield* nodesBelow(child);
}
