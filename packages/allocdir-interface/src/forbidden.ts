import type { BigIntStats } from "node:fs";
import { AllocDirError } from "./alloc-dir-error.ts";
import type { EnterCheck, SafeRoot } from "./safe-root.ts";

const KINDS = ["secrets", "private"] as const;
type Kind = (typeof KINDS)[number];

const idOf = (stats: BigIntStats): string => `${stats.dev}:${stats.ino}`;

/** Hard links are looked for in at most so many entries of one task's secrets. */
const MAX_SCANNED = 10_000;

/** The directories of an allocation that its file API never enters, known by identity and not by spelling. */
export class Forbidden {
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #tasks: readonly string[];

  private constructor(kinds: ReadonlyMap<string, Kind>, tasks: readonly string[]) {
    this.#kinds = kinds;
    this.#tasks = tasks;
  }

  /** Looks at every directory of the allocation, registered as a task or not. */
  static async of(root: SafeRoot): Promise<Forbidden> {
    const kinds = new Map<string, Kind>();
    const tasks = await root.at("", { follow: false, enter: () => undefined }, (place) => root.names(place));
    await Promise.all(
      tasks.flatMap((task) =>
        KINDS.map((kind) =>
          root
            .at(`${task}/${kind}`, { follow: false, enter: () => undefined }, (place) => {
              if (place.stats.isDirectory()) kinds.set(idOf(place.stats), kind);
              return Promise.resolve();
            })
            // A file, a task without them, or one that goes away just now: nothing to protect.
            .catch(() => undefined),
        ),
      ),
    );
    return new Forbidden(kinds, tasks);
  }

  readonly enter: EnterCheck = (stats, requested) => {
    const kind = this.#kinds.get(idOf(stats));
    if (kind !== undefined) throw refused(kind, requested);
  };

  /** Refuses a file that also has a name in a task's secrets. */
  async checkLinks(root: SafeRoot, stats: BigIntStats, requested: string): Promise<void> {
    if (stats.nlink <= 1n) return;
    for (const task of this.#tasks) {
      for (const kind of KINDS) if (await holds(root, `${task}/${kind}`, stats)) throw refused(kind, requested);
    }
  }
}

/** The error for a place that is not shown. */
export function refused(kind: Kind, requested: string): AllocDirError {
  const [reason, word] =
    kind === "secrets" ? (["SECRET_FILE", "secret"] as const) : (["PRIVATE_FILE", "private"] as const);
  return new AllocDirError(reason, `Reading ${word} file prohibited: ${requested}`, requested);
}

async function holds(root: SafeRoot, dir: string, wanted: BigIntStats): Promise<boolean> {
  const queue = [dir];
  let seen = 0;
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const found = await root
      .at(path, { follow: false, enter: () => undefined }, async (place) => {
        if (!place.stats.isDirectory()) return false;
        for (const name of await root.names(place)) {
          if (++seen > MAX_SCANNED) return true; // too many to know: refused rather than leaked
          const stats = await root.entry(place, name);
          if (stats === undefined) continue;
          if (stats.dev === wanted.dev && stats.ino === wanted.ino) return true;
          if (stats.isDirectory()) queue.push(`${path}/${name}`);
        }
        return false;
      })
      .catch(() => false);
    if (found) return true;
  }
  return false;
}
