import { readFile } from "node:fs/promises";

/** User and group that own the shared directories, so that tasks of any user may write there. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The kernel's own idea of nobody, where the system has no such user. */
const OVERFLOW: Owner = { uid: 65534, gid: 65534 };

/** Reads `nobody` from the text of a passwd file. */
export function nobodyOf(passwd: string): Owner {
  const fields = passwd
    .split("\n")
    .find((line) => line.startsWith("nobody:"))
    ?.split(":");
  const uid = Number(fields?.[2]);
  const gid = Number(fields?.[3]);
  return Number.isInteger(uid) && Number.isInteger(gid) ? { uid, gid } : OVERFLOW;
}

let known: Promise<Owner> | undefined;

/** The user `nobody` and its group, looked up once. */
export const nobody = (): Promise<Owner> => (known ??= readFile("/etc/passwd", "utf8").then(nobodyOf, () => OVERFLOW));
