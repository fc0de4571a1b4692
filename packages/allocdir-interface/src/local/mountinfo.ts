import { readFileSync } from "node:fs";
import type { MountEntry } from "../mounter.ts";

/** How a path stands in the table: blanks and backslashes as octal escapes. */
const escaped = (path: string): string =>
  path.replace(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);

/** The mounts at or below a directory, from a mountinfo table. A machine may have thousands: lines of others are not taken apart. */
export function parseMountinfo(text: string, below: string): MountEntry[] {
  const entries: MountEntry[] = [];
  const wanted = ` ${escaped(below)}`;
  for (let at = text.indexOf(wanted); at >= 0;) {
    const start = text.lastIndexOf("\n", at) + 1;
    const end = text.indexOf("\n", at);
    const line = text.slice(start, end < 0 ? text.length : end);
    const fields = line.split(" ");
    const dash = fields.indexOf("-", 6);
    const target = (fields[4] ?? "").replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (dash >= 0 && (target === below || target.startsWith(`${below}/`)))
      entries.push({ target, type: fields[dash + 1] ?? "" });
    at = end < 0 ? -1 : text.indexOf(wanted, end);
  }
  return entries;
}

/** Options of the mounts on exactly this directory, the topmost last. */
export function mountOptions(text: string, target: string): string[][] {
  const wanted = escaped(target);
  const fields = text.split("\n").map((line) => line.split(" "));
  return fields.filter((line) => line[4] === wanted).map((line) => (line[5] ?? "").split(","));
}

/** One reading of the table for all that ask in the same turn of the event loop. */
let reading: Promise<string> | undefined;

/**
 * The table as it is after the call. Read in one go: the kernel makes it up page by page, each of which would take its own way through the
 * thread pool, and a hundred allocations that end together would make it up three hundred times.
 */
function readTable(): Promise<string> {
  reading ??= new Promise((resolve, reject) => {
    setImmediate(() => {
      reading = undefined;
      try {
        resolve(readFileSync("/proc/self/mountinfo", "utf8"));
      } catch (reason) {
        reject(reason as Error);
      }
    });
  });
  return reading;
}

/** The mounts at or below a directory, in this process's namespace. */
export const readMountinfo = async (below: string): Promise<MountEntry[]> => parseMountinfo(await readTable(), below);
