import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OutriderError } from "@outrider/foundation";
import { lockDir } from "../state/index.ts";
import { spreadSubfolders } from "./spread-folders.ts";

/** Version of the folder's layout. A newer one is refused. */
export const DATA_DIR_FORMAT = 1;

/** What may stand in a folder before it is a data folder: parts of a first start that was broken off. */
const OWN_NAMES = new Set([
  "agent.log",
  "alloc",
  "client",
  "driver",
  "format.new",
  "lock",
  "lock.held",
  "lost+found",
  "server",
]);

/** The parts of an agent's data folder, held by this process. */
export interface DataDir extends AsyncDisposable {
  readonly root: string;
  readonly server: string;
  readonly client: string;
  readonly alloc: string;
  readonly driver: string;
  /** Lets other users walk through the root, not list it (0711): from the first task of another user on. Each part is closed by itself. */
  letPass(): Promise<void>;
}

const CLOSED = 0o700;
const PASSAGE = 0o711;

/**
 * Makes or opens the data folder: private (0700), with a format version and a lock. One that tasks of other users walk through stays as it is,
 * since they may be running. Rejects with ERR_OUTRIDER_AGENT_DATA_DIR,
 * ERR_OUTRIDER_AGENT_DATA_DIR_NEWER or ERR_OUTRIDER_STATE_LOCKED.
 */
export async function openDataDir(root: string): Promise<DataDir> {
  const parts = {
    root,
    server: join(root, "server"),
    client: join(root, "client"),
    alloc: join(root, "alloc"),
    driver: join(root, "driver"),
  };
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    await checkOwner(root);
    await checkForeign(root);
    if (((await stat(root)).mode & 0o777) !== PASSAGE || process.geteuid?.() !== 0) await chmod(root, CLOSED);
  } catch (reason) {
    throw OutriderError.from(
      reason,
      "ERR_OUTRIDER_AGENT_DATA_DIR",
      `data folder ${root} cannot be used; choose another with -data-dir or OUTRIDER_DATA_DIR`,
    );
  }
  const lock = await lockDir(root);
  try {
    await checkFormat(root);
    for (const dir of [parts.server, parts.client, parts.driver]) await mkdir(dir, { recursive: true, mode: 0o700 });
    // Tasks of other users must be able to walk through it to their own folder; the root above keeps everybody else out.
    const isNew = (await mkdir(parts.alloc, { recursive: true, mode: 0o711 })) !== undefined;
    if (isNew) await spreadSubfolders([parts.alloc, parts.driver]);
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
  let passage: Promise<void> | undefined;
  const letPass = (): Promise<void> => (passage ??= chmod(root, PASSAGE));
  return { ...parts, letPass, [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() };
}

async function checkOwner(root: string): Promise<void> {
  const info = await stat(root);
  const uid = process.getuid?.();
  if (!info.isDirectory())
    throw new OutriderError("ERR_OUTRIDER_AGENT_DATA_DIR", `${root} is not a folder`, { details: { root } });
  if (uid !== undefined && uid !== 0 && info.uid !== uid)
    throw new OutriderError("ERR_OUTRIDER_AGENT_DATA_DIR", `${root} belongs to another user`, {
      details: { root, owner: info.uid },
    });
}

/** A folder that others use must not become private: `-data-dir /tmp` is a mistake. */
async function checkForeign(root: string): Promise<void> {
  if (((await stat(root)).mode & 0o077) === 0) return;
  const names = await readdir(root);
  const foreign = names.find((name) => !OWN_NAMES.has(name));
  if (foreign === undefined || names.includes("format")) return;
  throw new OutriderError(
    "ERR_OUTRIDER_AGENT_DATA_DIR",
    `${root} is open to other users and holds other files (${JSON.stringify(foreign)}); name a folder of its own with -data-dir or OUTRIDER_DATA_DIR`,
    { details: { root, foreign } },
  );
}

async function checkFormat(root: string): Promise<void> {
  const path = join(root, "format");
  let text: string | undefined;
  try {
    text = await readFile(path, "utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
  }
  if (text === undefined || text.trim() === "") {
    await writeFile(`${path}.new`, `${DATA_DIR_FORMAT}\n`, { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
    return;
  }
  const format = Number(text.trim());
  if (!Number.isInteger(format) || format < 1)
    throw new OutriderError(
      "ERR_OUTRIDER_AGENT_DATA_DIR",
      `${path} does not hold a format version; is ${root} a data folder?`,
      { details: { path, text: text.slice(0, 64) } },
    );
  if (format > DATA_DIR_FORMAT) {
    throw new OutriderError(
      "ERR_OUTRIDER_AGENT_DATA_DIR_NEWER",
      `data folder ${root} has format ${format}, this version reads up to ${DATA_DIR_FORMAT}; use the newer Outrider that wrote it`,
      { details: { root, format, supported: DATA_DIR_FORMAT } },
    );
  }
}
