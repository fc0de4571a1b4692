import { sleep } from "@outrider/backoff";
import type { Readable } from "node:stream";
import { ApiError, type ApiClient } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { allocOfJob, findAlloc, onlyTask } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { frames } from "../log-frames.ts";
import { LastLines } from "../last-lines.ts";
import type { AllocView, NodeView } from "../views.ts";

/** Nomad's estimate of a line's length, used to ask for the tail of a file. */
const BYTES_PER_LINE = 120;
const DEFAULT_TAIL_LINES = 10;
/** How long a follower collects before it shows the last lines of what there is. */
const SETTLE_MS = 1000;

/** The node's own address first, since it holds the files; the agent that was named when the node does not answer. */
async function open(
  client: ApiClient,
  alloc: AllocView,
  query: Record<string, string | number | boolean>,
  signal: AbortSignal,
): Promise<Readable> {
  const path = `/v1/client/fs/logs/${alloc.ID}`;
  let node: NodeView | undefined;
  try {
    node = (await client.get<NodeView>(`/v1/node/${alloc.NodeID}`, undefined, signal)).value;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  if (node?.HTTPAddr) {
    const direct = client.at(`${node.TLSEnabled ? "https" : "http"}://${node.HTTPAddr}`);
    try {
      return await direct.stream(path, { ...query, region: client.target.region || "global" }, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== undefined) throw error;
    }
  }
  return client.stream(path, query, signal);
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (flags.bool("stdout") && flags.bool("stderr")) throw new CommandError("Unable to support both stdout and stderr");
  const client = clientOf(context, flags);
  if (flags.has("group") && !flags.bool("job")) throw new CommandError("-group goes with -job");
  const [id, named] = flags.args;
  if (flags.args.length > 2) throw new CommandError("This command takes one or two arguments: <allocation> [<task>]");
  if (id === undefined) throw new CommandError("This command takes an allocation, or a job with -job");
  const alloc = flags.bool("job") ? await allocOfJob(client, id, flags.string("group")) : await findAlloc(client, id);
  const task = flags.string("task") || named || onlyTask(alloc);
  const type = flags.bool("stderr") ? "stderr" : "stdout";
  const follow = flags.bool("f");
  const tail = flags.bool("tail") || flags.has("n") || flags.has("c");
  const lines = flags.int("n", DEFAULT_TAIL_LINES);
  const byBytes = flags.has("c");
  if (lines < 0 || flags.int("c", 0) < 0) throw new CommandError("The values of -n and -c must not be negative");
  const query = {
    follow,
    offset: tail ? (byBytes ? flags.int("c", 0) : lines * BYTES_PER_LINE) : 0,
    origin: tail ? "end" : "start",
    task,
    type,
  };
  let stream: Readable;
  try {
    stream = await open(client, alloc, query, context.signal);
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(`Failed to read ${type} file: error reading file: ${error.message}`, { cause: error });
    throw error;
  }
  let keep = tail && !byBytes ? new LastLines(lines) : undefined;
  const release = (): void => {
    const kept = keep;
    keep = undefined;
    if (kept !== undefined) context.stdout.write(kept.take());
  };
  if (follow && keep !== undefined)
    void sleep(SETTLE_MS, { signal: context.signal, clock: context.clock }).then(release, () => undefined);
  try {
    for await (const frame of frames(stream)) {
      if (frame.FileEvent) context.stderr.write(`outrider: ${frame.FileEvent}\n`);
      if (!frame.Data) continue;
      const data = Buffer.from(frame.Data, "base64");
      if (keep !== undefined) keep.add(data);
      else if (context.stdout.write(data) === false) await room(context);
    }
  } catch (error) {
    // Ctrl-C is how one leaves a follower.
    if (!context.signal.aborted) throw error;
  }
  release();
  return 0;
}

/** Waits for a slow reader, so that what it has not taken yet does not pile up here. */
function room({ stdout, signal }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    if (stdout.once === undefined || signal.aborted) return resolve();
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    stdout.once("drain", done);
  });
}

export const allocLogs: Command = {
  name: "alloc logs",
  synopsis: "Show or follow the output of a task",
  usage: `outrider alloc logs [options] <allocation> [<task>]

  -f            Follow: go on until interrupted
  -stderr       The error output instead of the standard output
  -stdout       The standard output (default)
  -task <name>  The task; needed when there are several
  -job          The argument is a job: its newest allocation is used
  -group <name> With -job: of this group of it
  -tail         Only the end: the last 10 lines, or what -n or -c say
  -n <lines>    How many lines of the end
  -c <bytes>    How many bytes of the end
  -verbose      Accepted for compatibility`,
  flags: {
    f: "bool",
    stderr: "bool",
    stdout: "bool",
    task: "string",
    job: "bool",
    group: "string",
    tail: "bool",
    n: "int",
    c: "int",
    verbose: "bool",
  },
  client: true,
  run,
};
