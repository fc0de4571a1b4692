import { spawn } from "node:child_process";
import { link, open, readFile, rename, rm, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { OutriderError } from "@outrider/foundation";
import { isAlive, selfIdentity, type ProcessIdentity } from "./process-identity.ts";

/** Options of {@link lockDir}, for tests. */
export interface DirLockOptions {
  readonly self?: ProcessIdentity;
  /** Program that takes a lock of the kernel on descriptor 3. Without it the lock file alone decides. Default `flock`. */
  readonly flock?: string | undefined;
}

let calls = 0;

/**
 * Takes the lock of a folder for this process. The kernel decides (`flock`, released with the process whatever happens to it);
 * a file beside it says who holds it: pid, start time and boot id. Where there is no `flock` the file decides, and the lock of
 * a process that is gone is taken over. Rejects with ERR_OUTRIDER_STATE_LOCKED when its owner lives.
 */
export async function lockDir(dir: string, o: DirLockOptions = {}): Promise<AsyncDisposable> {
  const self = o.self ?? selfIdentity();
  const text = `${JSON.stringify(self)}\n`;
  const path = join(dir, "lock");
  // Opened for close-on-exec: no child ever holds the lock.
  const held = await open(join(dir, "lock.held"), "a", 0o600);
  try {
    const answer = await kernelLock(held, "flock" in o ? o.flock : "flock");
    if (answer === "taken") throw locked(dir, parseOwner((await readText(path)) ?? ""));
    if (answer === "got") await writeFile(path, text, { mode: 0o600 });
    else await fileLock(dir, path, text, self);
  } catch (reason) {
    await held.close();
    throw reason;
  }
  return {
    async [Symbol.asyncDispose]() {
      if ((await readText(path)) === text) await rm(path, { force: true });
      await held.close();
    },
  };
}

/** Asks `flock` to lock the open file that it shares with this process; the lock stays when it ends. */
function kernelLock(held: FileHandle, program: string | undefined): Promise<"got" | "taken" | "unknown"> {
  if (program === undefined) return Promise.resolve("unknown");
  return new Promise((resolve) => {
    const child = spawn(program, ["-n", "-x", "3"], { stdio: ["ignore", "ignore", "ignore", held.fd] });
    child.once("error", () => resolve("unknown"));
    child.once("exit", (code) => resolve(code === 0 ? "got" : code === 1 ? "taken" : "unknown"));
  });
}

async function fileLock(dir: string, path: string, text: string, self: ProcessIdentity): Promise<void> {
  const mine = join(dir, `lock.${self.pid}.${self.startTime}.${calls++}`);
  await writeFile(mine, text, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 10; attempt++) {
      if (await linked(mine, path)) return;
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

/** Removes a stale lock; whatever else was moved away by mistake is put back. */
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
    // An unreadable lock names nobody.
  }
  return undefined;
}

function locked(dir: string, owner: ProcessIdentity | undefined): OutriderError {
  const who = owner === undefined ? "another process" : `process ${owner.pid}`;
  return new OutriderError(
    "ERR_OUTRIDER_STATE_LOCKED",
    `data folder ${dir} is in use by ${who}; choose another with -data-dir or OUTRIDER_DATA_DIR`,
    {
      details: { dir, ...(owner === undefined ? {} : { pid: owner.pid }) },
    },
  );
}
