import { readFileSync } from "node:fs";

/** The options of the mounts on this path, one text a mount. */
export const mountOptions = (path: string): string[] =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4] === path)
    .map((line) => `${line.split(" ")[5]}`);
