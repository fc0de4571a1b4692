import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger, type Logger } from "@outrider/foundation";
import { createAllocSync, type AllocSyncOptions } from "../src/index.ts";

/** An update of the tests: an id, an urgent part and a part that may wait. */
export interface Update {
  readonly id: string;
  readonly status: string;
  readonly detail?: string;
}
export type Ack = Omit<Update, "id">;

export interface Sent {
  readonly at: number;
  readonly batch: Update[];
}

export function logger(): Logger & { lines: Array<[level: string, message: string | undefined, bindings: any]> } {
  const lines: Array<[string, string | undefined, any]> = [];
  const at = (level: string) => (bindings: object | string, message?: string) =>
    void lines.push([level, message, bindings]);
  const made = { ...noopLogger, lines, debug: at("debug"), warn: at("warn"), error: at("error"), child: () => made };
  return made as never;
}

/** A sync over a clock that stands still, and everything it did. */
export function harness(more: Partial<AllocSyncOptions<Update, Ack>> & { rpcMs?: number } = {}) {
  const clock = new ManualClock();
  const sent: Sent[] = [];
  const acked: Array<Map<string, Ack>> = [];
  const log = logger();
  const stop = new AbortController();
  const gone = new Set<string>();
  const answers: Array<Error | undefined> = [];
  const sync = createAllocSync<Update, Ack>({
    send: async (batch) => {
      sent.push({ at: clock.monotonic(), batch });
      if (more.rpcMs !== undefined) await new Promise<void>((resolve) => clock.setTimeout(resolve, more.rpcMs!));
      const answer = answers.shift();
      if (answer !== undefined) throw answer;
    },
    id: (u) => u.id,
    priority: (u, ack) => {
      if (gone.has(u.id)) return "unknown";
      if (ack === undefined) return u.status === "failed" ? "urgent" : "typical";
      if (u.status !== ack.status) return "urgent";
      return u.detail === ack.detail ? "none" : "typical";
    },
    toAck: ({ id: _id, ...ack }) => ack,
    onAck: (acks) => void acked.push(acks),
    random: () => 0,
    clock,
    logger: log,
    ...more,
  });
  return {
    clock,
    sync,
    sent,
    acked,
    log,
    stop,
    gone,
    answers,
    ids: () => sent.map((s) => s.batch.map((u) => u.id).join(",")),
  };
}
