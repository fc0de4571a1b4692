import { readFileSync } from "node:fs";

/** Which cgroup hierarchies a machine has. Hybrid: controllers in version 1 and an empty version 2 tree beside them. @public */
export type CgroupMode = "v2" | "v1" | "hybrid" | "none";

/** Folders of one cgroup in the hierarchies that it lives in; absolute paths. @public */
export interface CgroupDirs {
  /** Version 2. */
  readonly unified?: string | undefined;
  /** Version 1. */
  readonly cpuacct?: string | undefined;
  readonly cpu?: string | undefined;
  readonly memory?: string | undefined;
}

/** The cgroup hierarchies of a machine and where they are mounted. @public */
export interface CgroupLayout {
  readonly mode: CgroupMode;
  readonly roots: CgroupDirs;
}

/** Finds the hierarchies in the text of `/proc/self/mountinfo` (read when not given). @public */
export function detectCgroups(mountinfo?: string): CgroupLayout {
  const roots: { -readonly [K in keyof CgroupDirs]: CgroupDirs[K] } = {};
  for (const line of (mountinfo ?? readMountinfo()).split("\n")) {
    const [mount, fs] = line.split(" - ");
    const [type, , options] = fs?.split(" ") ?? [];
    const path = unescape(mount?.split(" ")[4] ?? "");
    if (type === "cgroup2") roots.unified ??= path;
    if (type !== "cgroup") continue;
    for (const name of options?.split(",") ?? []) {
      if (name === "cpu" || name === "cpuacct" || name === "memory") roots[name] ??= path;
    }
  }
  const v1 = roots.cpu !== undefined || roots.cpuacct !== undefined || roots.memory !== undefined;
  const mode = roots.unified === undefined ? (v1 ? "v1" : "none") : v1 ? "hybrid" : "v2";
  return { mode, roots };
}

/** The folders of a cgroup by its path below each root, for example `/nomad.slice/share.slice/a.web.scope`. @public */
export function cgroupDirs(layout: CgroupLayout, path: string): CgroupDirs {
  const relative = path.replace(/^\/+|\/+$/g, "");
  return Object.fromEntries(
    Object.entries(layout.roots).map(([name, root]: [string, string]) => [name, `${root}/${relative}`]),
  );
}

function readMountinfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "latin1");
  } catch {
    return "";
  }
}

// Spaces, tabs, newlines and backslashes in mount paths are octal escapes.
const unescape = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
