import { readFile } from "node:fs/promises";
import type { MountEntry } from "../mounter.ts";

/** Reads a mountinfo table: blanks and backslashes in paths come as octal escapes. */
export function parseMountinfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split("\n")) {
    const fields = line.split(" ");
    const dash = fields.indexOf("-", 6);
    if (dash < 0) continue;
    const target = (fields[4] as string).replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    // The table holds bytes; a path that is not ASCII was read as Latin-1 by the escapes only.
    entries.push({ target, type: fields[dash + 1] ?? "" });
  }
  return entries;
}

/** The mounts of this process's namespace. */
export const readMountinfo = async (): Promise<MountEntry[]> =>
  parseMountinfo(await readFile("/proc/self/mountinfo", "utf8"));
