import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type {
  AllocDirSubject,
  AllocDirUnderTest,
  ConformanceContext,
  ConformanceFaults,
} from "../../src/conformance/index.ts";
import { diskHands } from "../../src/conformance/index.ts";
import { join } from "node:path";
import { createLocalAllocDir, parseMountinfo } from "../../src/local/index.ts";
import { createMountsAllocDir } from "../../src/mounts/index.ts";
import { createMemoryAllocDir, type MemoryAllocDir } from "../../src/memory/index.ts";

const mountsBelow = (dir: string): string[] =>
  parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"), dir).map(({ target }) => target);

const isRoot = process.geteuid?.() === 0;

/** Faults of a real disk: root remounts, others take their own right to write away. */
const diskFaults: ConformanceFaults = {
  readOnly: (place, ctx) => {
    if (isRoot) {
      for (const dir of [ctx.root, ctx.mountsRoot]) {
        execFileSync("mount", ["-o", "bind", dir, dir]);
        execFileSync("mount", ["-o", "remount,bind,ro", dir]);
      }
      return () => void execFileSync("umount", [ctx.root, ctx.mountsRoot]);
    }
    const dirs = [place.alloc.allocDirPath, ctx.root, ctx.mountsRoot];
    for (const dir of dirs) chmodSync(dir, 0o555);
    return () => dirs.reverse().forEach((dir) => chmodSync(dir, 0o755));
  },
  ...(isRoot
    ? {
        full: (_place, ctx) => {
          // Some inodes: enough for the first folders.
          execFileSync("mount", ["-t", "tmpfs", "-o", "nr_inodes=5", "tmpfs", ctx.root]);
          return () => void execFileSync("umount", [ctx.root]);
        },
      }
    : {}),
  vanish: (place, ctx) => {
    const mounted = [...mountsBelow(place.alloc.allocDirPath), ...mountsBelow(ctx.mountsRoot)];
    for (const mount of mounted.reverse()) execFileSync("umount", [mount]);
    rmSync(place.alloc.allocDirPath, { recursive: true, force: true });
    for (const name of readdirSync(ctx.mountsRoot))
      rmSync(join(ctx.mountsRoot, name), { recursive: true, force: true });
  },
};

/** Capabilities of what stands on a Linux disk. */
const DISK = {
  posixModes: true,
  chown: isRoot,
  umask: true,
  symlinks: true,
  hardLinks: true,
  fifos: true,
  sockets: true,
  raceFree: true,
  persistent: true,
  onDisk: true,
} as const;

export const local: AllocDirSubject = {
  name: "local",
  capabilities: { ...DISK, tmpfsSecrets: isRoot, isolation: ["none", "image"] },
  faults: diskFaults,
  create: (ctx) => {
    const alloc = createLocalAllocDir({
      allocId: ctx.allocId,
      root: ctx.root,
      clock: ctx.clock,
      ...(ctx.mounter ? { mounter: ctx.mounter } : {}),
    });
    return { alloc, hands: diskHands(alloc) };
  },
};

const memoryOf = (place: AllocDirUnderTest): MemoryAllocDir => place.alloc as MemoryAllocDir;

export const memory: AllocDirSubject = {
  name: "memory",
  capabilities: {
    posixModes: true,
    symlinks: true,
    hardLinks: true,
    fifos: true,
    sockets: true,
    raceFree: true,
    umask: true,
    isolation: ["none", "image"],
  },
  faults: {
    readOnly: (place) => {
      memoryOf(place).files.readOnly = true;
      return () => void (memoryOf(place).files.readOnly = false);
    },
    full: (place) => {
      memoryOf(place).files.limits = { maxEntries: 4 };
      return () => void (memoryOf(place).files.limits = {});
    },
    vanish: (place) => memoryOf(place).files.remove("/"),
  },
  create: (ctx: ConformanceContext) => {
    const alloc = createMemoryAllocDir({ allocId: ctx.allocId });
    return { alloc, hands: alloc.files, leftovers: () => (alloc.files.exists("/") ? [alloc.allocDirPath] : []) };
  },
};

/** Whether all cases run with views; else those that are about them do. A view costs eleven programs. */
const unveilFirst = process.env["OUTRIDER_CONFORMANCE_ALL"] === "1";

/** Views by mounts: as root, with what Nomad calls isolation `unveil`. */
export const mounts: AllocDirSubject = {
  name: "mounts",
  capabilities: {
    ...DISK,
    tmpfsSecrets: isRoot,
    bindMounts: isRoot,
    isolation: isRoot ? (unveilFirst ? ["unveil", "none", "image"] : ["none", "image", "unveil"]) : ["none", "image"],
  },
  faults: diskFaults,
  create: (ctx) => mountsDir(ctx, false),
};

/** The directories of tasks beside the allocation's, without mounts. */
export const realDirs: AllocDirSubject = {
  name: "mounts with realDirs",
  capabilities: { ...DISK, chown: false, isolation: ["unveil", "none", "image"] },
  faults: diskFaults,
  create: (ctx) => mountsDir(ctx, true),
};

function mountsDir(ctx: ConformanceContext, real: boolean): AllocDirUnderTest {
  const alloc = createMountsAllocDir({
    allocId: ctx.allocId,
    root: ctx.root,
    mountsRoot: ctx.mountsRoot,
    clock: ctx.clock,
    ...(ctx.mounter ? { mounter: ctx.mounter } : {}),
    ...(real ? { realDirs: true, asRoot: false } : {}),
  });
  return { alloc, hands: diskHands(alloc) };
}

/** All implementations of the package. */
export const SUBJECTS: readonly AllocDirSubject[] = [local, memory, mounts, realDirs];

/** What there is to move from and to: everything else, or the next one, where time matters. */
export function othersOf(subject: AllocDirSubject, all = false): readonly AllocDirSubject[] {
  if (all) return SUBJECTS.filter((one) => one !== subject);
  const next = SUBJECTS[(SUBJECTS.indexOf(subject) + 1) % SUBJECTS.length];
  return next === undefined ? [] : [next];
}
