import { readlinkSync } from "node:fs";
import type { KernelFileReader } from "./kernel-file.ts";

/** Knows which pid the kernel gave last: when none was given, there is no new process, and listing them all is dear. @internal */
export class PidCounter {
  readonly #procDir: string;
  readonly #reader: KernelFileReader;
  readonly #usable: boolean;

  constructor(procDir: string, reader: KernelFileReader) {
    this.#procDir = procDir;
    this.#reader = reader;
    this.#usable = isOwnNamespace(procDir);
  }

  /** The last field of loadavg; `undefined` where it says nothing about the processes that procfs shows. */
  newest(): number | undefined {
    if (!this.#usable) return undefined;
    try {
      this.#reader.read(`${this.#procDir}/loadavg`);
    } catch {
      return undefined;
    }
    const text = this.#reader.text();
    const pid = Number(text.slice(text.lastIndexOf(" ") + 1));
    return pid > 0 ? pid : undefined;
  }

  /** Whether a pid is that of a process, not of a thread (which procfs shows to who asks for it, but does not list). */
  isProcess(pid: number): boolean {
    try {
      this.#reader.read(`${this.#procDir}/${pid}/status`);
    } catch {
      return false;
    }
    return Number(/^Tgid:\s*(\d+)$/m.exec(this.#reader.text())?.[1]) === pid;
  }
}

// A procfs of another pid namespace (of the host, seen from a container) does not know this process under its own pid.
function isOwnNamespace(procDir: string): boolean {
  try {
    return readlinkSync(`${procDir}/self`) === String(process.pid);
  } catch {
    return false;
  }
}
