import { constants } from "node:fs";
import { mkdir, open, rename, rmdir, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { SkipReason, SnapshotReport } from "../alloc-dir-fs.ts";
import { makeDir } from "../local/make-dir.ts";
import { removeTree } from "../local/remove-tree.ts";
import type { MoveOptions, MoveReport, MoveSource, UserRef } from "../types.ts";
import { changeOwners } from "./change-owners.ts";
import { writeSnapshot } from "./snapshot.ts";
import { stage, type StagedDisk } from "./staging.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A descriptor that only marks a place. */
const O_PATH = 0o10000000;

/** The allocation that gets a disk. */
export interface MoveTarget {
  /** The directory that holds all allocations. */
  readonly root: string;
  readonly allocId: string;
  readonly shareDirPath: string;
  readonly localDirOf: (task: string) => string;
  /** Who owns directories that are made for tasks; undefined: the process. */
  readonly owner: UserRef | undefined;
}

/** One directory and where it is to be. */
interface Passage {
  /** How reports call it: `alloc/data`, `web/local`. */
  readonly name: string;
  readonly task: string | undefined;
  readonly from: string;
  readonly to: string;
}

interface Done {
  readonly passage: Passage;
  /** Whether something empty was there before, to be put back if the move fails. */
  readonly replaced: boolean;
}

const codeOf = (reason: unknown): string => (reason as NodeJS.ErrnoException).code ?? "";

/** Takes over the disk of another allocation, see `AllocDir.move`. By renaming; across file systems, and from layouts without files, by a copy. */
export async function moveDisk(
  from: MoveSource,
  to: MoveTarget,
  tasks: readonly string[],
  o: MoveOptions = {},
): Promise<MoveReport> {
  o.signal?.throwIfAborted();
  if (!from.onDisk) return copied(to, tasks, o, (out) => from.snapshot(out, signalOf(o)));
  const passages = passagesOf(from, to, tasks);
  try {
    return await renameAll(passages, to, o);
  } catch (reason) {
    if (codeOf(reason) !== "EXDEV") throw reason;
  }
  const report = await copied(to, tasks, o, (out) => {
    const roots = passages.map(({ name, from: path }) => ({ name, base: dirname(path), below: [basename(path)] }));
    const request = { allocId: to.allocId, roots, secrets: [], taskParents: [from.allocDirPath] };
    return writeSnapshot(request, out, { signals: o.signal === undefined ? [] : [o.signal] });
  });
  // The copy counts from here on. What cannot be deleted goes with the old allocation.
  for (const { name, from: path } of passages)
    if (report.moved.includes(name)) await removeTree(path, name).catch(() => undefined);
  return report;
}

const signalOf = (o: MoveOptions): { signal?: AbortSignal } => (o.signal === undefined ? {} : { signal: o.signal });

function passagesOf(from: MoveSource, to: MoveTarget, tasks: readonly string[]): Passage[] {
  return [
    { name: "alloc/data", task: undefined, from: join(from.shareDirPath, "data"), to: join(to.shareDirPath, "data") },
    ...tasks.map((task) => ({
      name: `${task}/local`,
      task,
      from: from.getTaskDir(task)?.localDir ?? join(from.allocDirPath, task, "local"),
      to: to.localDirOf(task),
    })),
  ];
}

/** Copies by way of an archive into a staging directory, and takes that over. */
async function copied(
  to: MoveTarget,
  tasks: readonly string[],
  o: MoveOptions,
  snapshot: (out: PassThrough) => Promise<SnapshotReport>,
): Promise<MoveReport> {
  const pipe = new PassThrough();
  pipe.on("error", () => undefined);
  const rules = { tasks, ownMake: true, ...signalOf(o) };
  const sinkOptions = { owners: process.geteuid?.() === 0, keepRoot: true };
  const [made, staged] = await Promise.allSettled([
    snapshot(pipe),
    stage(pipe, to.root, to.allocId, rules, sinkOptions),
  ]);
  if (staged.status === "rejected") {
    // Which of the two failed first: an archive that tells of its own failure has nothing more to say.
    const told = codeOf(staged.reason) === "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_REMOTE" && made.status === "rejected";
    throw told ? made.reason : staged.reason;
  }
  await using disk: StagedDisk = staged.value;
  if (made.status === "rejected") throw made.reason;
  const report = await renameAll(passagesOf(disk, to, tasks), to, o);
  return { moved: report.moved, skipped: [...made.value.skippedPaths, ...report.skipped] };
}

async function renameAll(passages: readonly Passage[], to: MoveTarget, o: MoveOptions): Promise<MoveReport> {
  const done: Done[] = [];
  const parents: string[] = [];
  const skipped: { path: string; reason: SkipReason }[] = [];
  try {
    for (const passage of passages) {
      o.signal?.throwIfAborted();
      const result = await renameOne(passage, to, parents);
      if (result === "link") skipped.push({ path: passage.name, reason: "link" });
      else if (result !== undefined) done.push(result);
    }
    for (const { passage } of done) {
      const owners = passage.task === undefined ? undefined : o.owners?.[passage.task];
      if (owners !== undefined) await changeOwners(passage.to, owners.from, owners.to, signalOf(o));
    }
    return { moved: done.map(({ passage }) => passage.name), skipped };
  } catch (reason) {
    await undo(done, parents, to);
    throw reason;
  }
}

/** Moves one directory; undefined if there is none, `link` if something else is in its place. */
async function renameOne(passage: Passage, to: MoveTarget, parents: string[]): Promise<Done | "link" | undefined> {
  const { name } = passage;
  try {
    const source = await openParent(passage.from);
    if (source === undefined) return undefined;
    await using from = source;
    const leaf = `/proc/self/fd/${from.fd}/${basename(passage.from)}`;
    await using mark = await openMark(leaf);
    if (mark === undefined) return undefined;
    if (!(await mark.stat()).isDirectory()) return "link";
    const parent = dirname(passage.to);
    if (passage.task !== undefined && (await makeParent(parent, to.owner, name))) parents.push(parent);
    await using into = await open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const target = `/proc/self/fd/${into.fd}/${basename(passage.to)}`;
    const before = await openMark(target);
    await before?.close();
    await rename(leaf, target);
    await using after = await openMark(target);
    if (after !== undefined && (await sameFile(after, mark))) return { passage, replaced: before !== undefined };
    // Exchanged in between for something of the tasks' making: it stays where it was.
    await rename(target, leaf);
    if (before !== undefined) makeDir(passage.to, 0o777, to.owner, name);
    return "link";
  } catch (reason) {
    if (codeOf(reason) === "EXDEV") throw reason;
    if (codeOf(reason) === "ENOTEMPTY" || codeOf(reason) === "EEXIST")
      throw new AllocDirError("NOT_EMPTY", `${JSON.stringify(name)} holds something already`, name, { cause: reason });
    throw systemError(reason, name);
  }
}

async function openParent(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(dirname(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (reason) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(reason))) return undefined;
    throw reason;
  }
}

async function openMark(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_PATH | O_NOFOLLOW);
  } catch (reason) {
    if (codeOf(reason) === "ENOENT") return undefined;
    throw reason;
  }
}

async function sameFile(a: FileHandle, b: FileHandle): Promise<boolean> {
  const [x, y] = await Promise.all([a.stat({ bigint: true }), b.stat({ bigint: true })]);
  return x.dev === y.dev && x.ino === y.ino;
}

/** Whether it had to be made. */
async function makeParent(path: string, owner: UserRef | undefined, shown: string): Promise<boolean> {
  const made = await mkdir(path, { mode: 0o777 }).then(
    () => true,
    (reason: unknown) => {
      if (codeOf(reason) !== "EEXIST") throw reason;
      return false;
    },
  );
  if (made) makeDir(path, 0o777, owner, shown);
  return made;
}

async function undo(done: readonly Done[], parents: readonly string[], to: MoveTarget): Promise<void> {
  for (const { passage, replaced } of [...done].reverse()) {
    // Best effort: the failure that led here is what the caller hears of.
    await rename(passage.to, passage.from)
      .then(() => replaced && makeDir(passage.to, 0o777, to.owner, passage.name))
      .catch(() => undefined);
  }
  for (const parent of parents) await rmdir(parent).catch(() => undefined);
}
