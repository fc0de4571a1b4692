import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { AllocDirError, systemError } from "../alloc-dir-error.ts";
import type { SnapshotReport } from "../alloc-dir-fs.ts";
import { removeTree } from "../local/remove-tree.ts";
import { checkAllocId, checkTaskName } from "../names.ts";
import type { MoveSource } from "../types.ts";
import { FolderSink, type FolderSinkOptions } from "./folder-sink.ts";
import { unpackArchive, type UnpackReport, type UnpackRules } from "./unpack.ts";

/** Name of a disk on its way to an allocation; swept at the next start if the process dies meanwhile. */
export const STAGING_PREFIX = ".migrate-";

/** Where and for whom an archive is unpacked. @public */
export interface StageOptions extends UnpackRules {
  /** The directory that holds all allocations. */
  readonly root: string;
  /** The allocation that is to get the disk. */
  readonly allocId: string;
  /** Gives files to the users that the archive names, root's excepted. Default: whether the process is root. */
  readonly owners?: boolean;
}

/** A disk that came out of an archive, for `AllocDir.move`. Its disposal deletes what was not taken over. @public */
export interface StagedDisk extends MoveSource, AsyncDisposable {
  readonly report: UnpackReport;
}

/**
 * Unpacks an archive beside the allocations, on the same file system, so that taking it over is a rename. Rejects for whatever the rules
 * do not let in, for damage and for a full disk; nothing stays behind then. @public
 */
export async function stageArchive(source: AsyncIterable<Uint8Array>, o: StageOptions): Promise<StagedDisk> {
  const { root, allocId, owners = process.geteuid?.() === 0 } = o;
  return stage(source, root, allocId, o, { owners });
}

/** The same with a word on root's own files, for copies of disks of this machine. */
export async function stage(
  source: AsyncIterable<Uint8Array>,
  root: string,
  allocId: string,
  rules: UnpackRules,
  sinkOptions: FolderSinkOptions,
): Promise<StagedDisk> {
  checkAllocId(allocId);
  for (const task of rules.tasks) checkTaskName(task);
  const path = join(root, `${STAGING_PREFIX}${allocId}-${randomBytes(4).toString("hex")}`);
  try {
    await mkdir(path, { mode: 0o700 });
    await using sink = await FolderSink.open(path, sinkOptions);
    const report = await unpackArchive(source, sink, rules);
    await sink.finish();
    return new Staged(path, report);
  } catch (reason) {
    await removeTree(path, "").catch(() => undefined);
    throw reason instanceof AllocDirError || rules.signal?.aborted === true ? reason : systemError(reason, "");
  }
}

class Staged implements StagedDisk {
  readonly onDisk = true;
  readonly allocDirPath: string;
  readonly shareDirPath: string;
  readonly report: UnpackReport;

  constructor(path: string, report: UnpackReport) {
    this.allocDirPath = path;
    this.shareDirPath = join(path, "alloc");
    this.report = report;
  }

  /** Everything stands where the archive put it. */
  getTaskDir(): undefined {
    return undefined;
  }

  snapshot(_out: Writable): Promise<SnapshotReport> {
    return Promise.reject(new AllocDirError("NOT_BUILT", "a disk on its way has no snapshot", ""));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.allocDirPath, "");
  }
}
