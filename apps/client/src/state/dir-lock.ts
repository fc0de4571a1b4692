import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OutriderError } from "@outrider/foundation";
import { isAlive, selfIdentity, type ProcessIdentity } from "./process-identity.ts";

/**
 * Takes the lock of a folder for this process: a file with pid, start time and boot id. A lock whose process is gone is
 * taken over. Rejects with ERR_OUTRIDER_STATE_LOCKED when its owner lives.
 */
export async function lockDir(dir: string, self: ProcessIdentity = selfIdentity()): Promise<AsyncDisposable> {
  const path = join(dir, "lock");
  const mine = join(dir, `lock.${self.pid}.${self.startTime}`);
  const text = `${JSON.stringify(self)}\n`;
  await writeFile(mine, text, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 10; attempt++) {
      if (await linked(mine, path)) return releaser(path, text);
      const found = await readText(path);
      if (found === undefined) continue;
      const owner = parseOwner(found);
      if (owner !== undefined && isAlive(owner)) throw locked(dir, owner);
      await takeAway(path, found, `${mine}.stale`);
    }
    throw locked(dir, undefined);
  } finally {
    await rm(mine, { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw reason;
  }
}

/** Removes a stale lock without ever removing another's fresh one: whatever was moved away by mistake is put back. */
async function takeAway(path: string, stale: string, aside: string): Promise<void> {
  try {
    await rename(path, aside);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return;
    throw reason;
  }
  if ((await readText(aside)) !== stale) await linked(aside, path);
  await rm(aside, { force: true });
}

function releaser(path: string, text: string): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      if ((await readText(path)) === text) await rm(path, { force: true });
    },
  };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw reason;
  }
}

function parseOwner(text: string): ProcessIdentity | undefined {
  try {
    const value = JSON.parse(text) as Partial<ProcessIdentity>;
    if (typeof value.pid === "number" && typeof value.startTime === "string" && typeof value.bootId === "string") {
      return { pid: value.pid, startTime: value.startTime, bootId: value.bootId };
    }
  } catch {
    // An unreadable lock names nobody: it is stale.
  }
  return undefined;
}

function locked(dir: string, owner: ProcessIdentity | undefined): OutriderError {
  const who = owner === undefined ? "another process" : `process ${owner.pid}`;
  return new OutriderError("ERR_OUTRIDER_STATE_LOCKED", `data folder ${dir} is in use by ${who}; choose another with -data-dir or OUTRIDER_DATA_DIR`, {
    details: { dir, ...(owner === undefined ? {} : { pid: owner.pid }) },
  });
}
