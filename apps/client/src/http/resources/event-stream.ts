import { once } from "node:events";
import type { ApiContext } from "../api-context.ts";
import type { ApiRequest, ApiResult, Resource } from "../api-types.ts";
import { HttpError } from "../http-error.ts";
import type { EventBatch } from "../../server/index.ts";
import type { ServerEvent } from "../../server/tx.ts";
import { showAlloc, showDeployment, showEval, showJob, showNode } from "./shapes.ts";

const TOPICS = new Set([
  "*",
  "Job",
  "Evaluation",
  "Allocation",
  "Deployment",
  "Node",
  "Service",
  "NodePool",
  "NodeDrain",
  "Operator",
]);
/** An empty line tells a quiet client that the connection lives, ms. */
const HEARTBEAT_MS = 10_000;
/** Changes that may wait for a slow reader before it is let go. */
const MAX_QUEUE = 1000;

/** `/v1/event/stream`: changes as they happen, one JSON object a line. */
export function eventStreamResource(context: ApiContext): Resource {
  return { path: "/v1/event/stream", methods: { GET: (request) => stream(context, request) } };
}

async function stream(context: ApiContext, request: ApiRequest): Promise<ApiResult> {
  const wanted = parseTopics(request.params.all("topic"));
  const { namespace, index } = request.query;
  const slot = context.waiting.openStream();
  const signal = AbortSignal.any([request.signal, slot.signal]);
  const queue: EventBatch[] = [];
  let wake: () => void = () => undefined;
  let overrun = false;
  // Without an index the stream begins now, with one it looks back as far as is remembered.
  const since = index === 0 ? context.server.state.index + 1 : index;
  using _ = context.server.state.feed.subscribe(since, (batch) => {
    const events = batch.events.filter((event) => matches(event, wanted, namespace));
    if (events.length === 0) return;
    overrun ||= queue.length >= MAX_QUEUE;
    if (!overrun) queue.push({ index: batch.index, events });
    wake();
  });
  const { raw } = request.reply;
  request.reply.hijack();
  raw.writeHead(200, {
    "content-type": "application/json",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  });
  try {
    await write(raw, "{}\n", signal);
    while (!signal.aborted && !overrun) {
      const batch = queue.shift();
      if (batch !== undefined) {
        for (const part of split(batch)) await write(raw, `${JSON.stringify(part)}\n`, signal);
        continue;
      }
      const woken = await new Promise<boolean>((resolve) => {
        const timer = context.clock.setTimeout(() => resolve(false), HEARTBEAT_MS);
        wake = () => {
          context.clock.clearTimeout(timer);
          resolve(true);
        };
        signal.addEventListener("abort", wake, { once: true });
        if (signal.aborted || queue.length > 0) wake();
      });
      signal.removeEventListener("abort", wake);
      if (!woken) await write(raw, "{}\n", signal);
    }
    raw.end();
  } finally {
    slot.close();
  }
  return { kind: "sent" };
}

/** Events of one object a line carry the index at which they happened. */
function split(batch: EventBatch): Array<{ Index: number; Events: unknown[] }> {
  const byIndex = new Map<number, unknown[]>();
  for (const event of batch.events) {
    const list = byIndex.get(event.Index) ?? [];
    list.push({ ...event, Payload: showPayload(event) });
    byIndex.set(event.Index, list);
  }
  return [...byIndex].map(([Index, Events]) => ({ Index, Events }));
}

function showPayload(event: ServerEvent): Record<string, unknown> {
  const show = {
    Job: showJob,
    Evaluation: showEval,
    Allocation: showAlloc,
    Deployment: showDeployment,
    Node: showNode,
  } as unknown as Record<string, (value: unknown) => unknown>;
  return Object.fromEntries(
    Object.entries(event.Payload).map(([key, value]) => {
      // The stream leaves the job out of allocations, as Nomad does.
      if (key === "Allocation") return [key, showAlloc({ ...(value as Parameters<typeof showAlloc>[0]), Job: null })];
      return [key, show[key]?.(value) ?? value];
    }),
  );
}

async function write(raw: ApiRequest["reply"]["raw"], text: string, signal: AbortSignal): Promise<void> {
  if (raw.destroyed) return;
  if (!raw.write(text)) await once(raw, "drain", { signal }).catch(() => undefined);
}

type Wanted = ReadonlyMap<string, ReadonlySet<string>>;

function parseTopics(texts: readonly string[]): Wanted {
  const wanted = new Map<string, Set<string>>();
  for (const text of texts.length === 0 ? ["*"] : texts) {
    const parts = text.split(":");
    const [topic = "", key = "*"] = parts;
    if (parts.length > 2 || topic === "")
      throw new HttpError(
        400,
        `Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: ${text}`,
      );
    if (!TOPICS.has(topic)) throw new HttpError(400, `Invalid topic query: unknown topic ${JSON.stringify(topic)}`);
    wanted.set(topic, (wanted.get(topic) ?? new Set()).add(key));
  }
  return wanted;
}

function matches(event: ServerEvent, wanted: Wanted, namespace: string): boolean {
  if (namespace !== "*" && event.Namespace !== "" && event.Namespace !== namespace) return false;
  return [wanted.get("*"), wanted.get(event.Topic)].some(
    (keys) =>
      keys !== undefined &&
      (keys.has("*") || keys.has(event.Key) || (event.FilterKeys ?? []).some((key) => keys.has(key))),
  );
}
