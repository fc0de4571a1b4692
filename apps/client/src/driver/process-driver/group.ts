/** All processes of one task: found, killed and accounted by cgroup, or by a marker in their environment. */
import { type Clock, createBackoff, sleep } from "@outrider/backoff";
import { mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CgroupMounts, GroupMode } from "./cgroup-mounts.ts";
import { errnoOf } from "./files.ts";
import { kill } from "./identity.ts";

/** The variable that marks every process of a task. */
export const MARKER = "OUTRIDER_TASK";

const SIGKILL = 9;
const SIGSTOP = 19;
/** How long killing goes on before the driver gives up on processes that the kernel does not let go. */
const KILL_LIMIT_MS = 10_000;

/** The cgroups of one task, as kept in its meta file. */
export interface GroupPaths {
  readonly mode: GroupMode;
  readonly members?: string;
  readonly memory?: string;
  readonly cpuacct?: string;
}

/** Makes the cgroups of a task. What cannot be made is left out; without the first one members are found by the marker. */
export function createGroup(mounts: CgroupMounts, name: string): GroupPaths {
  const make = (base: string | undefined): string | undefined => {
    if (base === undefined) return undefined;
    const folder = join(base, "outrider", name);
    try {
      mkdirSync(folder, { recursive: true });
      return folder;
    } catch {
      return undefined;
    }
  };
  const members = make(mounts.members);
  if (members === undefined) return { mode: "none" };
  const memory = make(mounts.memory);
  const cpuacct = make(mounts.cpuacct);
  return {
    mode: mounts.mode,
    members,
    ...(memory === undefined ? {} : { memory }),
    ...(cpuacct === undefined ? {} : { cpuacct }),
  };
}

/** The files into which the first process of the task writes itself. */
export function procsFiles(group: GroupPaths): string[] {
  return folders(group).map((folder) => join(folder, "cgroup.procs"));
}

/** Ends every process of the task, also those that changed their session. Resolves to false when some could not be ended in time. */
export async function killMembers(group: GroupPaths, taskId: string, clock: Clock): Promise<boolean> {
  const until = clock.monotonic() + KILL_LIMIT_MS;
  const pauses = createBackoff({ base: 1, limit: 50 });
  for (;;) {
    if (killOnce(group, taskId) === 0) return true;
    if (clock.monotonic() > until) return false;
    await sleep(pauses.next(), { clock });
  }
}

/** Whether the kernel killed a process of the task for lack of memory; `undefined` = nobody counts. */
export function oomKilled(group: GroupPaths): boolean | undefined {
  const file =
    group.mode === "v2"
      ? join(group.members as string, "memory.events")
      : group.memory === undefined
        ? undefined
        : join(group.memory, "memory.oom_control");
  if (file === undefined) return undefined;
  const match = /^oom_kill (\d+)$/m.exec(readText(file));
  return match === null ? undefined : match[1] !== "0";
}

/** Removes the cgroups; they are empty by now. A folder that is still busy is tried a few times. */
export async function removeGroup(group: GroupPaths, clock: Clock): Promise<void> {
  for (const folder of folders(group)) {
    for (let attempt = 0; attempt < 10 && !removeTree(folder); attempt++) await sleep(5, { clock });
  }
}

/** Removes the folders above the tasks' cgroups, as far as nobody uses them. */
export function removeParents(mounts: CgroupMounts, name: string): void {
  for (const base of [mounts.members, mounts.memory, mounts.cpuacct]) {
    if (base === undefined) continue;
    try {
      rmdirSync(join(base, "outrider", dirname(name)));
      rmdirSync(join(base, "outrider"));
    } catch {
      // other tasks, or another agent's
    }
  }
}

function folders({ members, memory, cpuacct }: GroupPaths): string[] {
  return [members, memory, cpuacct].filter((folder) => folder !== undefined);
}

/** One round; returns how many processes there were. */
function killOnce(group: GroupPaths, taskId: string): number {
  const { members, mode } = group;
  if (members === undefined) return killMarked(taskId);
  const pids = cgroupMembers(members);
  if (pids.length === 0) {
    // a driver that died in the middle may have left it frozen
    if (mode === "v1") write(join(members, "freezer.state"), "THAWED");
    return 0;
  }
  if (mode === "v2" && write(join(members, "cgroup.kill"), "1")) return pids.length;
  const [file, frozen, thawed] = mode === "v1" ? ["freezer.state", "FROZEN", "THAWED"] : ["cgroup.freeze", "1", "0"];
  write(join(members, file), frozen);
  for (const pid of cgroupMembers(members)) kill(pid, SIGKILL);
  write(join(members, file), thawed);
  return pids.length;
}

/** Stops all first, so that none forks away from under the scan. */
function killMarked(taskId: string): number {
  const pids = markedProcesses(taskId);
  for (const pid of pids) kill(pid, SIGSTOP);
  const again = markedProcesses(taskId);
  for (const pid of again) kill(pid, SIGKILL);
  return Math.max(pids.length, again.length);
}

/** Whether a process's environment carries the marker of the task. That of another user may be invisible. */
export function isMarked(pid: number, taskId: string): boolean {
  const marker = Buffer.from(`\0${MARKER}=${taskId}\0`);
  try {
    const environ = readFileSync(`/proc/${pid}/environ`);
    return environ.includes(marker) || environ.subarray(0, marker.length - 1).equals(marker.subarray(1));
  } catch {
    return false;
  }
}

function markedProcesses(taskId: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^[1-9][0-9]*$/.test(name))
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid && isMarked(pid, taskId));
}

function cgroupMembers(folder: string): number[] {
  const pids = readText(join(folder, "cgroup.procs"))
    .split("\n")
    .map(Number)
    .filter((pid) => pid > 1);
  for (const inner of subfolders(folder)) pids.push(...cgroupMembers(inner));
  return pids;
}

function removeTree(folder: string): boolean {
  if (removeFolder(folder)) return true;
  for (const inner of subfolders(folder)) removeTree(inner);
  return removeFolder(folder);
}

function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (reason) {
    return errnoOf(reason) === "ENOENT";
  }
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name));
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function write(path: string, text: string): boolean {
  try {
    writeFileSync(path, text);
    return true;
  } catch {
    return false;
  }
}
