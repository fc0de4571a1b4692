import { nodeJournalFs, type JournalFs } from "../../src/state/journal-fs.ts";

/** A disk with a size, and calls that can be made to fail. */
export class FaultyFs implements JournalFs {
  /** Bytes that all files together may take. */
  capacity = Number.POSITIVE_INFINITY;
  /** The next syncs of open files that fail with EIO. */
  failSyncs = 0;
  failWrites = 0;
  failTruncates = 0;
  failOpens = 0;
  failDirSyncs = 0;
  syncs = 0;
  #sizes = new Map<string, number>();

  get used(): number {
    let sum = 0;
    for (const size of this.#sizes.values()) sum += size;
    return sum;
  }

  async open(path: string, o: { readonly create: boolean }): ReturnType<JournalFs["open"]> {
    if (this.failOpens > 0) {
      this.failOpens--;
      throw errno("EIO");
    }
    const file = await nodeJournalFs.open(path, o);
    let name = path;
    this.#names.push((from, to) => {
      if (name === from) name = to;
    });
    if (o.create) this.#sizes.set(path, 0);
    return {
      write: async (bytes, offset) => {
        if (this.failWrites > 0) {
          this.failWrites--;
          await file.write(bytes.subarray(0, bytes.length >> 1), offset);
          throw errno("EIO");
        }
        const before = this.#sizes.get(name) ?? 0;
        const grow = Math.max(0, offset + bytes.length - before);
        const room = this.capacity - this.used;
        if (grow > room) {
          // A real disk writes what fits.
          const fits = Math.max(0, bytes.length - (grow - Math.max(0, room)));
          if (fits > 0) await file.write(bytes.subarray(0, fits), offset);
          this.#sizes.set(name, Math.max(before, offset + fits));
          throw errno("ENOSPC");
        }
        await file.write(bytes, offset);
        this.#sizes.set(name, before + grow);
      },
      datasync: async () => {
        this.syncs++;
        if (this.failSyncs > 0) {
          this.failSyncs--;
          throw errno("EIO");
        }
        await file.datasync();
      },
      truncate: async (length) => {
        if (this.failTruncates > 0) {
          this.failTruncates--;
          throw errno("EIO");
        }
        await file.truncate(length);
        this.#sizes.set(name, length);
      },
      close: () => file.close(),
    };
  }

  #names: Array<(from: string, to: string) => void> = [];

  read(path: string): Promise<Buffer | undefined> {
    return nodeJournalFs.read(path);
  }
  async rename(from: string, to: string): Promise<void> {
    await nodeJournalFs.rename(from, to);
    this.#sizes.set(to, this.#sizes.get(from) ?? 0);
    this.#sizes.delete(from);
    for (const change of this.#names) change(from, to);
  }
  copy(from: string, to: string): Promise<void> {
    return nodeJournalFs.copy(from, to);
  }
  async remove(path: string): Promise<void> {
    await nodeJournalFs.remove(path);
    this.#sizes.delete(path);
  }
  async syncDir(path: string): Promise<void> {
    if (this.failDirSyncs > 0) {
      this.failDirSyncs--;
      throw errno("EIO");
    }
    await nodeJournalFs.syncDir(path);
  }
}

function errno(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}
