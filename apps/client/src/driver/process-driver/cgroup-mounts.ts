/** Where this process may make cgroups of its own. */
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How the members of a task are kept together. */
export type GroupMode = "v1" | "v2" | "none";

/** The folders below which task cgroups are made; only those that are there and writable. */
export interface CgroupMounts {
  readonly mode: GroupMode;
  /** v1: the freezer hierarchy; v2: the unified one. */
  readonly members?: string;
  /** v1 only. */
  readonly memory?: string;
  /** v1 only. */
  readonly cpuacct?: string;
  /** v1 mount points by controller, for overrides in a job. */
  readonly controllers: Readonly<Record<string, string>>;
  /** Mount point of the unified hierarchy. */
  readonly unified?: string;
}

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** Looks for usable hierarchies, below the cgroups that this process is in: limits set on it hold for its tasks as well. */
export function findCgroups(proc = "/proc/self"): CgroupMounts {
  let mounts: Mount[];
  let own: Map<string, string>;
  try {
    mounts = parseMounts(readFileSync(`${proc}/mountinfo`, "utf8"));
    own = parseOwn(readFileSync(`${proc}/cgroup`, "utf8"));
  } catch {
    return { mode: "none", controllers: {} };
  }
  const v1 = mounts.filter(({ type }) => type === "cgroup");
  const v2 = mounts.find(({ type }) => type === "cgroup2");
  const controllers: Record<string, string> = {};
  for (const mount of v1) for (const option of mount.options) controllers[option] ??= mount.point;
  const writable = (controller: string): string | undefined => {
    const mount = v1.find(({ options }) => options.includes(controller));
    return mount === undefined ? undefined : usable(ownFolder(mount, own.get(controller)));
  };
  const unified = v2 === undefined ? {} : { unified: v2.point };
  const freezer = writable("freezer");
  if (freezer !== undefined) {
    const memory = writable("memory");
    const cpuacct = writable("cpuacct");
    return {
      mode: "v1",
      members: freezer,
      controllers,
      ...unified,
      ...(memory === undefined ? {} : { memory }),
      ...(cpuacct === undefined ? {} : { cpuacct }),
    };
  }
  const members = v2 === undefined ? undefined : usable(ownFolder(v2, own.get("")));
  if (members !== undefined) return { mode: "v2", members, controllers, ...unified };
  return { mode: "none", controllers, ...unified };
}

/** Lines of mountinfo: `31 23 0:28 /root /point options [optional…] - type source superOptions`. */
function parseMounts(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split("\n")) {
    const [left, right] = line.split(" - ");
    const before = left?.split(" ") ?? [];
    const after = right?.split(" ") ?? [];
    if (after[0] !== "cgroup" && after[0] !== "cgroup2") continue;
    mounts.push({
      root: unescape(before[3] ?? "/"),
      point: unescape(before[4] ?? "/"),
      type: after[0],
      options: (after[2] ?? "").split(","),
    });
  }
  return mounts;
}

/** Lines of `/proc/self/cgroup`: `4:memory:/path`, and `0::/path` for the unified hierarchy. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    if (match === null) continue;
    for (const controller of (match[1] ?? "").split(",")) own.set(controller, match[2] ?? "/");
  }
  return own;
}

function ownFolder(mount: Mount, path = "/"): string {
  if (mount.root === "/") return join(mount.point, path);
  // inside a container: the mount shows only a part of the tree
  return path === mount.root || path.startsWith(`${mount.root}/`)
    ? join(mount.point, path.slice(mount.root.length))
    : mount.point;
}

function usable(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    return existsSync(join(folder, "cgroup.procs")) ? folder : undefined;
  } catch {
    return undefined;
  }
}

function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
