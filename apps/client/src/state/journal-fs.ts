import { copyFile, open, readFile, rename, rm } from "node:fs/promises";

/** One open file of a journal. */
export interface JournalFile {
  /** Writes all bytes at an offset, or rejects. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** The few file operations a journal needs: a port, so that a full disk and a broken one can be tested. */
export interface JournalFs {
  /** Opens for writing; creates with mode 0600 when `create` is set, else the file must exist. */
  open(path: string, o: { readonly create: boolean }): Promise<JournalFile>;
  /** Undefined when there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  rename(from: string, to: string): Promise<void>;
  copy(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes renames and creations in a folder durable. */
  syncDir(path: string): Promise<void>;
}

/** The real file system. */
export const nodeJournalFs: JournalFs = {
  async open(path, { create }) {
    const handle = await open(path, create ? "w" : "r+", 0o600);
    return {
      async write(bytes, offset) {
        for (let done = 0; done < bytes.length;) {
          const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
          done += bytesWritten;
        }
      },
      datasync: () => handle.datasync(),
      truncate: (length) => handle.truncate(length),
      close: () => handle.close(),
    };
  },
  async read(path) {
    try {
      return await readFile(path);
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw reason;
    }
  },
  rename,
  copy: (from, to) => copyFile(from, to),
  remove: (path) => rm(path, { force: true }),
  async syncDir(path) {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};
