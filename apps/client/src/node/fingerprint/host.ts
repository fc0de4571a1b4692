import { readFile, statfs } from "node:fs/promises";
import { constants, hostname, networkInterfaces, release, totalmem } from "node:os";
import type { NodeNetworkResource, NetworkResource } from "@outrider/nomad-structs";
import { make, NetworkResourceStruct } from "@outrider/nomad-structs";

/** Attributes of kernel, distribution and signals. */
export async function fingerprintOs(): Promise<Record<string, string>> {
  const os = await osRelease();
  const cgroups = await cgroupVersion();
  return {
    "kernel.name": process.platform,
    "kernel.version": release(),
    "kernel.arch": kernelArch(),
    "os.name": os["ID"] ?? "linux",
    "os.version": os["VERSION_ID"] ?? "",
    "os.signals": Object.keys(constants.signals).sort().join(","),
    ...(cgroups === undefined ? {} : { "os.cgroups.version": cgroups }),
    "unique.hostname": hostname(),
  };
}

function kernelArch(): string {
  return process.arch === "x64" ? "x86_64" : process.arch === "arm64" ? "aarch64" : process.arch;
}

async function osRelease(): Promise<Record<string, string>> {
  for (const path of ["/etc/os-release", "/usr/lib/os-release"]) {
    try {
      const values: Record<string, string> = {};
      for (const line of (await readFile(path, "utf8")).split("\n")) {
        const match = /^([A-Z_]+)=(?:"(.*)"|(.*))$/.exec(line.trim());
        if (match?.[1] !== undefined) values[match[1]] = match[2] ?? match[3] ?? "";
      }
      return values;
    } catch {
      // Try the next place.
    }
  }
  return {};
}

async function cgroupVersion(): Promise<string | undefined> {
  try {
    const mounts = await readFile("/proc/self/mountinfo", "utf8");
    if (/ - cgroup2 /.test(mounts) && !/ - cgroup /.test(mounts)) return "2";
    if (/ - cgroup /.test(mounts)) return "1";
  } catch {
    // No /proc: nothing is said about cgroups.
  }
  return undefined;
}

/** Memory in MB and as attribute. A limit of the container counts, when there is one. */
export async function fingerprintMemory(): Promise<{
  readonly memoryMB: number;
  readonly attributes: Record<string, string>;
}> {
  let bytes = totalmem();
  for (const path of ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]) {
    try {
      const limit = Number.parseInt(await readFile(path, "utf8"), 10);
      if (limit > 0 && limit < bytes) bytes = limit;
    } catch {
      // No such limit.
    }
  }
  return { memoryMB: Math.floor(bytes / 1_048_576), attributes: { "memory.totalbytes": String(bytes) } };
}

/** Disk of the folder where allocations live. */
export async function fingerprintStorage(
  dir: string,
): Promise<{ readonly diskMB: number; readonly attributes: Record<string, string> }> {
  const [disk, volume] = await Promise.all([statfs(dir), deviceOf(dir)]);
  const total = disk.blocks * disk.bsize;
  const free = disk.bavail * disk.bsize;
  return {
    diskMB: Math.floor(free / 1_048_576),
    attributes: {
      "unique.storage.bytestotal": String(total),
      "unique.storage.bytesfree": String(free),
      "unique.storage.volume": volume,
    },
  };
}

/** The device that a folder is on: the CLI finds the node's disk by it. */
export async function deviceOf(dir: string): Promise<string> {
  let best = { mountpoint: "", device: dir };
  try {
    for (const line of (await readFile("/proc/mounts", "utf8")).split("\n")) {
      const [device, mountpoint] = line.split(" ").map((part) => part.replaceAll("\\040", " "));
      if (device === undefined || mountpoint === undefined || mountpoint.length < best.mountpoint.length) continue;
      if (dir === mountpoint || dir.startsWith(mountpoint.endsWith("/") ? mountpoint : `${mountpoint}/`))
        best = { mountpoint, device };
    }
  } catch {
    // Without /proc the folder stands for its device.
  }
  return best.device;
}

/** Addresses of a node. The first one that is not loopback serves groups with ports, unless the machine has none. */
export function fingerprintNetwork(preferred: string | undefined): {
  readonly ip: string;
  readonly networks: NetworkResource[];
  readonly nodeNetworks: NodeNetworkResource[];
} {
  const interfaces = networkInterfaces();
  const all = Object.entries(interfaces).flatMap(([device, addresses]) =>
    (addresses ?? []).map((address) => ({ device, ...address })),
  );
  const outward = all.find((a) => !a.internal && a.family === "IPv4");
  const ip = preferred ?? outward?.address ?? "127.0.0.1";
  const device = all.find((a) => a.address === ip)?.device ?? outward?.device ?? "lo";
  const own = all.filter((a) => a.device === device && !a.address.startsWith("fe80"));
  return {
    ip,
    networks: own.map((a) =>
      make(NetworkResourceStruct, {
        Mode: "host",
        Device: device,
        CIDR: `${a.address}/${a.family === "IPv4" ? 32 : 128}`,
        IP: a.address,
        MBits: 1000,
      }),
    ),
    nodeNetworks: [
      {
        Mode: "host",
        Device: device,
        MacAddress: own[0]?.mac === undefined || own[0].mac === "00:00:00:00:00:00" ? "" : own[0].mac,
        Speed: 1000,
        Addresses: own.map((a) => ({
          Family: a.family === "IPv4" ? "ipv4" : "ipv6",
          Alias: "default",
          Address: a.address,
          ReservedPorts: "",
          Gateway: "",
        })),
      },
    ],
  };
}
