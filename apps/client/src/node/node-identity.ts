import { randomUUID } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { OutriderError } from "@outrider/foundation";

/** Who this node is, for ever. */
export interface NodeIdentity {
  readonly id: string;
  readonly secretId: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Reads the node's ids from its state folder, or makes them. A file that holds something else is an error, never replaced silently. */
export async function loadNodeIdentity(dir: string): Promise<NodeIdentity> {
  return { id: await idFile(join(dir, "client-id")), secretId: await idFile(join(dir, "secret-id")) };
}

async function idFile(path: string): Promise<string> {
  let text: string | undefined;
  try {
    text = (await readFile(path, "utf8")).trim();
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
  }
  if (text !== undefined) {
    if (UUID.test(text)) return text;
    throw new OutriderError(
      "ERR_OUTRIDER_NODE_BAD_IDENTITY",
      `${path} does not hold a UUID; restore it, or remove the data folder to start as a new node`,
      { details: { path, text: text.slice(0, 64) } },
    );
  }
  const id = randomUUID();
  const temporary = `${path}.new`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(`${id}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  return id;
}
