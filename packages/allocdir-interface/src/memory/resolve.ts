import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import { refused } from "../forbidden.ts";
import { segmentsOf } from "../safe-root.ts";
import { nodesBelow, type MemoryNode } from "./memory-node.ts";

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;
const KINDS = ["secrets", "private"] as const;

/** A system error of a path. */
export const failure = (code: string, path: string): AllocDirError =>
  systemError(Object.assign(new Error(code), { code }), path);

const escapes = (path: string): AllocDirError =>
  new AllocDirError("PATH_ESCAPES", `Path escapes the alloc directory: ${JSON.stringify(path)}`, path);

/** Where a path leads. */
export interface MemoryPlace {
  readonly node: MemoryNode;
  /** Its last name, links resolved; empty for the root. */
  readonly name: string;
}

/** How a path is walked. */
export interface WalkOptions {
  readonly follow: boolean;
  /** Throws where a directory must not be entered. */
  readonly enter?: (node: MemoryNode) => void;
}

/** Walks a path from a root; links are followed inside of it only. */
export function walk(root: MemoryNode, path: string, o: WalkOptions): MemoryPlace {
  const todo = segmentsOf(path, path).reverse();
  checkLexically(todo, path);
  const stack: MemoryPlace[] = [{ node: root, name: "" }];
  let last: MemoryPlace = { node: root, name: "" };
  let links = 0;
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (last.node.kind !== "directory") throw failure("ENOTDIR", path);
    if (name === "..") {
      if (stack.length === 1) throw escapes(path);
      stack.pop();
      last = stack.at(-1) as MemoryPlace;
      continue;
    }
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw failure("ENAMETOOLONG", path);
    if (stack.length > 1) o.enter?.(last.node);
    const node = last.node.children.get(name);
    if (node === undefined) throw failure("ENOENT", path);
    if (node.kind === "symlink" && (o.follow || todo.length > 0)) {
      if (++links > MAX_LINKS) throw failure("ELOOP", path);
      if (node.target.startsWith("/")) throw escapes(path);
      todo.push(...segmentsOf(node.target, path).reverse());
      continue;
    }
    last = { node, name };
    if (node.kind === "directory") stack.push(last);
  }
  return last;
}

function checkLexically(reversed: readonly string[], path: string): void {
  let depth = 0;
  for (const name of [...reversed].reverse()) {
    depth += name === ".." ? -1 : 1;
    if (depth < 0) throw escapes(path);
  }
}

/** Walks a path of the file API: nothing below a task's secrets or private is reached, by whatever name. */
export function walkOpen(root: MemoryNode, path: string): MemoryPlace {
  const closed = new Map<MemoryNode, (typeof KINDS)[number]>();
  for (const task of root.children.values()) {
    for (const kind of KINDS) {
      const node = task.children.get(kind);
      if (node?.kind === "directory") closed.set(node, kind);
    }
  }
  const enter = (node: MemoryNode): void => {
    const kind = closed.get(node);
    if (kind !== undefined) throw refused(kind, path);
  };
  const place = walk(root, path, { follow: true, enter });
  if (place.node.kind === "file" && place.node.links > 1) {
    for (const [dir, kind] of closed)
      for (const node of nodesBelow(dir)) if (node === place.node) throw refused(kind, path);
  }
  return place;
}

/** Refuses to look into a directory of secrets itself. */
export function checkListed(root: MemoryNode, place: MemoryPlace, path: string): void {
  for (const task of root.children.values())
    for (const kind of KINDS) if (task.children.get(kind) === place.node) throw refused(kind, path);
}
