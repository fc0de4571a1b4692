import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@outrider/backoff";
import type { AllocDir, Mounter } from "../src/index.ts";
import { createLocalAllocDir } from "../src/local/index.ts";

export const ALLOC_ID = "0a1b2c3d-0000-4000-8000-00000000abcd";

/** A built allocation in a folder of its own, without root's powers unless asked. */
export async function tempAlloc(
  o: { asRoot?: boolean; mounter?: Mounter; tasks?: readonly string[]; clock?: Clock } = {},
): Promise<{ alloc: AllocDir; root: string } & AsyncDisposable> {
  const root = mkdtempSync(join(tmpdir(), "outrider-alloc-"));
  const alloc = createLocalAllocDir({
    allocId: ALLOC_ID,
    root,
    asRoot: o.asRoot ?? false,
    ...(o.mounter ? { mounter: o.mounter } : {}),
    ...(o.clock ? { clock: o.clock } : {}),
  });
  await alloc.build();
  for (const name of o.tasks ?? ["web"]) await alloc.newTaskDir({ name }).build({ isolation: "none" });
  return {
    alloc,
    root,
    [Symbol.asyncDispose]: async () => {
      await alloc.destroy();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
