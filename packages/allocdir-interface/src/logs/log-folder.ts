/** A log folder held open, so that no name swapped by a task can lead a write elsewhere. */
import { OutriderError } from "@outrider/foundation";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** An open folder. Names in it are reached through its descriptor. */
export class LogFolder {
  readonly path: string;
  readonly #fd: number;
  #open = true;

  /** Opens `root` (trusted, may be a link), then each further part without following links. */
  constructor(root: string, parts: readonly string[]) {
    this.path = join(root, ...parts);
    let fd = openSync(root, O_RDONLY | O_DIRECTORY);
    for (const part of parts) {
      const parent = fd;
      try {
        fd = openSync(`/proc/self/fd/${parent}/${checkName(part)}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      } finally {
        closeSync(parent);
      }
    }
    this.#fd = fd;
  }

  /** The path of an entry for this process. */
  at(name: string): string {
    return `/proc/self/fd/${this.#fd}/${checkName(name)}`;
  }

  /** The path of an entry for a child of this process. */
  atForChild(name: string): string {
    return `/proc/${process.pid}/fd/${this.#fd}/${checkName(name)}`;
  }

  /** The folder itself. */
  get self(): string {
    return `/proc/self/fd/${this.#fd}/.`;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#fd);
  }
}

/** Refuses what is no plain name. */
export function checkName(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw new OutriderError("ERR_OUTRIDER_LOGS_NAME", `log folder: ${JSON.stringify(name)} is no file name`, {
      details: { field: "name", text: name },
    });
  }
  return name;
}
