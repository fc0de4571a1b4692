/** What the kernel says about processes, their sockets, mounts and cgroups. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** Runs and is no zombie. */
export function alive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== "" && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

export interface Found {
  readonly pid: number;
  readonly command: string;
}

/** Processes that stand in a folder, or name it in their arguments or environment. */
export function processesBelow(dir: string): Found[] {
  const found: Found[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const command = read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
    const named = command.includes(dir) || read(`/proc/${name}/environ`).includes(dir);
    if ((named || below(link(`/proc/${name}/cwd`), dir)) && alive(Number(name)))
      found.push({ pid: Number(name), command });
  }
  return found;
}

/** Kills what {@link processesBelow} finds until nothing is left: some of it may end by itself meanwhile, some may come late. */
export async function endProcessesBelow(dir: string): Promise<void> {
  for (const over = performance.now() + 30_000; ;) {
    const left = processesBelow(dir);
    if (left.length === 0) return;
    if (performance.now() > over) throw new Error(`cannot be killed: ${JSON.stringify(left)}`);
    for (const { pid } of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // gone meanwhile
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Mount points in a folder. */
export function mountsBelow(dir: string): string[] {
  return read("/proc/self/mountinfo")
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replaceAll(/\\([0-7]{3})/g, (_, o: string) =>
        String.fromCharCode(Number.parseInt(o, 8)),
      ),
    )
    .filter((point) => below(point, dir));
}

/** Cgroups for the tasks whose records are kept in a folder, one of each hierarchy. */
export function cgroupsOf(stateFolder: string): string[] {
  let name: string;
  try {
    const { dev, ino } = statSync(stateFolder);
    name = `${dev.toString(36)}-${ino.toString(36)}`;
  } catch {
    return [];
  }
  const found: string[] = [];
  const walk = (folder: string, depth: number): void => {
    for (const entry of folders(folder)) {
      const path = join(folder, entry);
      if (entry === name) found.push(path);
      else if (depth > 0) walk(path, depth - 1);
    }
  };
  walk("/sys/fs/cgroup", 4);
  return found;
}

/** How many descriptors a process has open, by what they are. */
export function descriptorsOf(pid: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const target of descriptorTargets(pid)) {
    const kind = target.replace(/:\[\d+\]$/, "").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>");
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** What the descriptors of a process lead to. */
export function descriptorTargets(pid: number): string[] {
  return list(`/proc/${pid}/fd`)
    .map((fd) => link(`/proc/${pid}/fd/${fd}`))
    .filter((target) => target !== "");
}

/** The name of the program that leads the foreground group of a process's terminal. */
export function foregroundOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  const leader = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5];
  return read(`/proc/${leader}/comm`).trim();
}

/** Inodes of the sockets of a process. */
export function socketsOf(pid: number): Set<string> {
  return new Set(descriptorTargets(pid).flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

/** Internet sockets among `inodes` that talk, or would talk, to another machine. */
export function connectionsOf(pid: number, inodes: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (const protocol of ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"]) {
    for (const line of read(`/proc/${pid}/net/${protocol}`).trim().split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [, local = "", peer = "", state] = fields;
      if (!inodes.has(fields[9] ?? "")) continue;
      const listening = protocol.startsWith("tcp") && state === "0A";
      // This machine may also talk to itself under an address that others see.
      const own = isLoopback(peer) || local.split(":")[0] === peer.split(":")[0];
      if (!listening && !(protocol.startsWith("tcp") && own)) found.push(`${protocol} ${local} -> ${peer}`);
    }
  }
  return found;
}

/** Accepted connections of a process on a TCP port. */
export function acceptedOn(pid: number, port: number): number {
  const inodes = socketsOf(pid);
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = ["tcp", "tcp6"].flatMap((name) => read(`/proc/${pid}/net/${name}`).trim().split("\n").slice(1));
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((f) => f[1]?.endsWith(suffix) && f[3] !== "0A" && inodes.has(f[9] ?? "")).length;
}

/** Local addresses of the listening TCP sockets of a process. */
export function listenersOf(pid: number): string[] {
  const inodes = socketsOf(pid);
  const lines = ["tcp", "tcp6"].flatMap((name) => read(`/proc/${pid}/net/${name}`).trim().split("\n").slice(1));
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((f) => f[3] === "0A" && inodes.has(f[9] ?? ""))
    .map((f) => f[1] ?? "");
}

/** Addresses of the kernel's tables: words of 32 bits in the machine's byte order, here little-endian. */
function isLoopback(address: string): boolean {
  const [host = ""] = address.split(":");
  return (
    /^[0-9A-F]{6}7F$/.test(host) || host === `${"0".repeat(24)}01000000` || /^0{16}FFFF0000[0-9A-F]{6}7F$/.test(host)
  );
}

function below(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`);
}

function folders(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
