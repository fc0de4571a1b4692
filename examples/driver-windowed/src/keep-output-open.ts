/** Keeps a task's output fifos from ending between two windows. */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { RecoverableError, type TaskConfig } from "@outrider/plugin-driver";
import { type ProcessIdentity, processIdentity } from "@outrider/plugin-driver/host";

const FLAGS = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Starts a process that holds both fifos and does nothing. An agent reads them until nobody holds them, and then for this task never
 * again; a process of its own goes on holding them whatever becomes of this plugin.
 */
export async function keepOutputOpen({ stdoutPath, stderrPath }: TaskConfig): Promise<ProcessIdentity | undefined> {
  const files: FileHandle[] = [];
  try {
    for (const path of [stdoutPath, stderrPath]) files.push(await open(path === "" ? "/dev/null" : path, FLAGS));
    const [out, err] = files.map(({ fd }) => fd);
    const idle = ["-c", "while :; do sleep 86400; done"];
    const keeper = spawn("/bin/sh", idle, { detached: true, stdio: ["ignore", out, err] });
    await new Promise((resolve, reject) => keeper.once("spawn", resolve).once("error", reject));
    keeper.unref();
    return keeper.pid === undefined ? undefined : processIdentity(keeper.pid);
  } catch (cause) {
    throw new RecoverableError(`start task: the output cannot be opened: ${String(cause)}`, true, { cause });
  } finally {
    for (const file of files) await file.close();
  }
}
