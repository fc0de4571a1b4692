import type { AllocDirReason } from "../alloc-dir-error.ts";
import type { CaseBench } from "./case.ts";
import { drain, refused } from "./expect.ts";
import { ok } from "./ok.ts";

const soon = (): AbortSignal => AbortSignal.timeout(2_000);

/** Every way into a tree by a path. */
const asks = (t: CaseBench, path: string): Record<string, () => Promise<unknown>> => ({
  list: () => t.alloc.list(path),
  stat: () => t.alloc.stat(path),
  readAt: () => t.alloc.readAt(path, 0),
  identify: () => t.alloc.identify(path),
  blockUntilExists: () => t.alloc.blockUntilExists(path, { signal: soon() }),
  changeEvents: () => t.alloc.changeEvents(path, 0, { signal: soon() })[Symbol.asyncIterator]().next(),
});

/** Every way in by this path has to be refused, without a word on where the allocation is. */
export async function refusedBy(
  t: CaseBench,
  path: string,
  reason: AllocDirReason | readonly AllocDirReason[],
): Promise<void> {
  for (const [name, ask] of Object.entries(asks(t, path))) {
    const error = await refused(ask, reason, `${name} of ${JSON.stringify(path.slice(0, 60))}`);
    ok(!error.message.includes(t.alloc.allocDirPath), `${name}: the message names the host's path`);
  }
}

/** What a file holds. */
export const textAt = async (t: CaseBench, path: string): Promise<string> =>
  (await drain(await t.alloc.readAt(path, 0))).toString();
