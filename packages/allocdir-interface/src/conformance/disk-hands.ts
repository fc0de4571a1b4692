import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import type { AllocDir } from "../types.ts";
import type { FifoEnds, TaskHands } from "./subject.ts";

const PIPE_BYTES = 65_536;
const { O_NONBLOCK, O_RDWR } = fs.constants;

/** Where a path of the file API lies on this machine, by what the directory itself says of its places. @public */
export function diskPath(alloc: AllocDir, path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  const [first = "", ...rest] = parts;
  if (first === "alloc") return join(alloc.shareDirPath, ...rest);
  const task = alloc.getTaskDir(first);
  return task === undefined ? join(alloc.allocDirPath, ...parts) : join(task.dir, ...rest);
}

/** The hands of a task on a real file system. @public */
export function diskHands(alloc: AllocDir): TaskHands {
  const at = (path: string): string => diskPath(alloc, path);
  return {
    mkdir: (path) => void fs.mkdirSync(at(path), { recursive: true }),
    write: (path, data) => fs.writeFileSync(at(path), data),
    append: (path, data) => fs.appendFileSync(at(path), data),
    truncate: (path, size) => fs.truncateSync(at(path), size),
    symlink: (target, path) => fs.symlinkSync(target, at(path)),
    link: (existing, path) => fs.linkSync(at(existing), at(path)),
    rename: (from, to) => fs.renameSync(at(from), at(to)),
    remove: (path) => fs.rmSync(at(path), { recursive: true, force: true }),
    chmod: (path, mode) => fs.chmodSync(at(path), mode),
    touch: (path, ms) => fs.utimesSync(at(path), ms / 1000, ms / 1000),
    mkfifo: (path) => void execFileSync("mkfifo", ["--", at(path)]),
    openFifo: (path) => openFifo(at(path)),
    socket: (path) => leaveSocket(at(path)),
    read: (path) => (fs.existsSync(at(path)) ? fs.readFileSync(at(path), "utf8") : undefined),
    exists: (path) => fs.lstatSync(at(path), { throwIfNoEntry: false }) !== undefined,
    owner: (path) => {
      const { uid, gid } = fs.lstatSync(at(path));
      return { uid, gid };
    },
  };
}

function openFifo(path: string): FifoEnds {
  const fd = fs.openSync(path, O_RDWR | O_NONBLOCK);
  return {
    write: (text) => void fs.writeSync(fd, text),
    take: () => {
      const buffer = Buffer.alloc(PIPE_BYTES);
      try {
        return buffer.toString("utf8", 0, fs.readSync(fd, buffer));
      } catch (reason) {
        if ((reason as NodeJS.ErrnoException).code === "EAGAIN") return "";
        throw reason;
      }
    },
    close: () => fs.closeSync(fd),
  };
}

/** A socket file outlives its process only if that one does not tidy up: another process, killed. */
function leaveSocket(path: string): void {
  const script = "require('net').createServer().listen(process.argv[1],()=>process.kill(process.pid,'SIGKILL'))";
  try {
    execFileSync(process.execPath, ["-e", script, path], { stdio: "ignore", env: {} });
  } catch {
    // it was killed, as planned
  }
  if (!fs.lstatSync(path).isSocket()) throw new Error("no socket could be made");
}
