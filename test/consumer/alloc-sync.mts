import { createAllocSync, DEFAULT_TICK_MS, type AllocSyncOptions } from "@outrider/alloc-sync";
import { codeOf, equal } from "./assert.mjs";

interface Space {
  id: string;
  taken: boolean;
}

export async function allocSyncUser(): Promise<void> {
  const sent: string[] = [];
  const options: AllocSyncOptions<Space, boolean> = {
    send: async (batch, { signal }) => {
      signal.throwIfAborted();
      for (const { id } of batch) sent.push(id);
    },
    id: (space) => space.id,
    priority: (space, known) => (space.taken === known ? "none" : "urgent"),
    toAck: (space) => space.taken,
    onAck: (acks: Map<string, boolean>) => equal(acks.size, 1),
  };
  await using sync = createAllocSync(options);
  sync.push({ id: "P1", taken: true });
  await sync.flush({ deadlineMs: 100 });
  equal(sent.join(), "P1");
  equal(sync.stats.delivered, 1);
  equal(DEFAULT_TICK_MS, 200);
  equal(
    codeOf(() => createAllocSync({ ...options, tick: -1 })),
    "ERR_OUTRIDER_SYNC_OPTION",
  );
  // @ts-expect-error an update has its type
  const code = codeOf(() => sync.push({ name: "P1" }));
  equal(code, "ERR_OUTRIDER_SYNC_OPTION");
}
