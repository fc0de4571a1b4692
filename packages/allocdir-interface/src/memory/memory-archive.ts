import { once } from "node:events";
import type { Writable } from "node:stream";
import { AllocDirError } from "../alloc-dir-error.ts";
import type { SkipReason, SnapshotReport } from "../alloc-dir-fs.ts";
import { ByteSource } from "../migrate/byte-source.ts";
import { encodeHeader, padding, TRAILER_BYTES } from "../migrate/tar-format.ts";
import { TarReader } from "../migrate/tar-reader.ts";
import { MemoryNode, nodesBelow } from "./memory-node.ts";

const NS_PER_S = 1_000_000_000n;
/** So many of the things left out are named in a report. */
const MAX_SKIPPED_PATHS = 100;
const MAX_PIECE_BYTES = 65_536;
const TYPES = { file: "file", directory: "directory", symlink: "symlink" } as const;

/** A folder that goes into an archive. */
export interface MemoryRoot {
  readonly name: string;
  readonly node: MemoryNode;
}

/** Writes folders as a tar archive and ends the stream; see `AllocDirFS.snapshot`. */
export async function writeMemoryArchive(
  roots: readonly MemoryRoot[],
  secrets: ReadonlySet<MemoryNode>,
  out: Writable,
  signals: readonly AbortSignal[],
): Promise<SnapshotReport> {
  const signal = AbortSignal.any([...signals]);
  let [entries, bytes, skipped] = [0, 0, 0];
  const skippedPaths: { path: string; reason: SkipReason }[] = [];
  const write = async (piece: Buffer): Promise<void> => {
    signal.throwIfAborted();
    if (piece.length > 0 && !out.write(piece)) await once(out, "drain", { signal });
  };
  const skip = (path: string, reason: SkipReason): void => {
    skipped++;
    if (skippedPaths.length < MAX_SKIPPED_PATHS) skippedPaths.push({ path, reason });
  };
  const add = async (name: string, node: MemoryNode): Promise<void> => {
    if (node.kind === "fifo" || node.kind === "socket") return skip(name, node.kind);
    if (secrets.has(node)) return skip(name, "link");
    // One moment: the file may change while its pieces are taken.
    const content = node.kind === "file" ? node.slice(0, node.size) : Buffer.alloc(0);
    const header = encodeHeader({
      name,
      type: TYPES[node.kind],
      mode: node.mode,
      uid: node.uid,
      gid: node.gid,
      uname: "",
      gname: "",
      size: content.length,
      mtime: Number(node.mtimeNs / NS_PER_S),
      linkname: node.target,
    });
    entries++;
    bytes += content.length;
    await write(header);
    for (let at = 0; at < content.length; at += MAX_PIECE_BYTES)
      await write(content.subarray(at, at + MAX_PIECE_BYTES));
    await write(Buffer.alloc(padding(content.length)));
    for (const [child, inside] of [...node.children].sort(byBytes)) await add(`${name}/${child}`, inside);
  };
  try {
    for (const { name, node } of roots) {
      if (node.kind === "directory") await add(name, node);
      else skip(name, node.kind === "fifo" || node.kind === "socket" ? node.kind : "link");
    }
    await write(Buffer.alloc(TRAILER_BYTES));
    out.end();
    await once(out, "finish", { signal });
  } catch (reason) {
    const cause: unknown = signal.aborted ? signal.reason : reason;
    out.destroy(cause as Error);
    throw cause;
  }
  return { entries, bytes, skipped, skippedPaths };
}

const byBytes = ([a]: [string, unknown], [b]: [string, unknown]): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The folders of these names in an archive of another layout's making. */
export async function readMemoryArchive(
  source: AsyncIterable<Uint8Array>,
  wanted: ReadonlySet<string>,
): Promise<Map<string, MemoryNode>> {
  const bytes = new ByteSource(source);
  const roots = new Map<string, MemoryNode>();
  try {
    const tar = new TarReader(bytes);
    for (let entry = await tar.next(); entry !== undefined; entry = await tar.next()) {
      const parts = entry.name.split("/");
      const root = parts.slice(0, 2).join("/");
      if (!wanted.has(root)) continue;
      const kind = entry.flag === "5" ? "directory" : entry.flag === "2" ? "symlink" : "file";
      const node = new MemoryNode(kind, {
        mode: entry.mode,
        uid: entry.uid,
        gid: entry.gid,
        mtimeNs: BigInt(entry.mtime) * NS_PER_S,
        target: entry.linkname,
      });
      for (let some = await tar.content(); some !== undefined; some = await tar.content()) node.append(some);
      if (parts.length === 2) roots.set(root, node);
      else place(roots.get(root), parts.slice(2), node);
    }
    // To the very end: whoever writes must not find the stream closed.
    while ((await bytes.some(MAX_PIECE_BYTES)).length > 0);
    if (!tar.sawTrailer)
      throw new AllocDirError("ARCHIVE_TRUNCATED", "the archive ends without its closing blocks", "");
  } finally {
    await bytes.close();
  }
  return roots;
}

function place(root: MemoryNode | undefined, below: readonly string[], node: MemoryNode): void {
  let dir = root;
  for (const name of below.slice(0, -1)) dir = dir?.children.get(name);
  if (dir === undefined) throw new AllocDirError("ARCHIVE_FORMAT", "the archive holds a file before its folder", "");
  dir.children.set(`${below.at(-1)}`, node);
  node.links++;
}

/** All files in these folders: what must not get into an archive by a second name. */
export function filesIn(folders: Iterable<MemoryNode>): Set<MemoryNode> {
  const found = new Set<MemoryNode>();
  for (const folder of folders) for (const node of nodesBelow(folder)) found.add(node);
  return found;
}
