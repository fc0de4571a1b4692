import { readFileSync } from "node:fs";

/** Names of users and groups by number. */
export interface Accounts {
  readonly users: ReadonlyMap<number, string>;
  readonly groups: ReadonlyMap<number, string>;
}

/** Reads the third field of each line as a number, and the first as its name. */
export function namesById(text: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const line of text.split("\n")) {
    const [name = "", , id = ""] = line.split(":");
    if (name !== "" && /^\d+$/.test(id) && !names.has(Number(id))) names.set(Number(id), name);
  }
  return names;
}

/** The accounts of this system; none where it has no such files. */
export function readAccounts(read: (path: string) => string = (path) => readFileSync(path, "utf8")): Accounts {
  const of = (path: string): Map<number, string> => {
    try {
      return namesById(read(path));
    } catch {
      return new Map();
    }
  };
  return { users: of("/etc/passwd"), groups: of("/etc/group") };
}
