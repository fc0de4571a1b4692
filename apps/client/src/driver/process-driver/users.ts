/** Who a task runs as. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { RecoverableError } from "@outrider/plugin-driver";
import type { TaskIdentity } from "./spec.ts";

const run = promisify(execFile);

/**
 * Finds a user by name or number: in `/etc/passwd`, then through `getent` (directories such as LDAP). A bare number without an entry is
 * taken as user and group.
 * @throws RecoverableError (not recoverable) for an unknown one
 */
export async function findUser(user: string, signal?: AbortSignal): Promise<TaskIdentity> {
  const found = entry(passwdFile(), user) ?? entry(await getent(user, signal), user);
  if (found !== undefined) return found;
  if (/^(0|[1-9][0-9]{0,9})$/.test(user)) return { uid: Number(user), gid: Number(user), name: "", home: "/" };
  throw new RecoverableError(`failed to identify user ${JSON.stringify(user)}: unknown user`, false);
}

function entry(text: string, user: string): TaskIdentity | undefined {
  for (const line of text.split("\n")) {
    const [name, , uid, gid, , home] = line.split(":");
    if (name === undefined || uid === undefined || gid === undefined) continue;
    if (name === user || uid === user) {
      return { uid: Number(uid), gid: Number(gid), name, home: home === undefined || home === "" ? "/" : home };
    }
  }
  return undefined;
}

function passwdFile(): string {
  try {
    return readFileSync("/etc/passwd", "utf8");
  } catch {
    return "";
  }
}

async function getent(user: string, signal?: AbortSignal): Promise<string> {
  if (user.startsWith("-") || user.includes("\0")) return "";
  try {
    const { stdout } = await run("getent", ["passwd", user], {
      timeout: 5_000,
      ...(signal === undefined ? {} : { signal }),
    });
    return stdout;
  } catch {
    return "";
  }
}
