import { ApiError, type ApiClient } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext, type UserTerminal } from "../command.ts";
import { EscapeKeys } from "../escape-keys.ts";
import { ExecClient } from "../exec-client.ts";
import { allocOfJob, checkTask, findAlloc, onlyTask } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";
import type { AllocView, NodeView } from "../views.ts";

/** The node's own address first; the agent that was named when the node does not answer. */
async function open(
  context: CommandContext,
  client: ApiClient,
  alloc: AllocView,
  query: Record<string, string | boolean>,
): Promise<ExecClient> {
  const { clock, signal } = context;
  const path = `/v1/client/allocation/${alloc.ID}/exec`;
  let node: NodeView | undefined;
  try {
    node = (await client.get<NodeView>(`/v1/node/${alloc.NodeID}`, undefined, signal)).value;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  if (node?.HTTPAddr) {
    const direct = client.at(`${node.TLSEnabled ? "https" : "http"}://${node.HTTPAddr}`);
    try {
      return await ExecClient.open(
        direct.websocket(path, { ...query, region: client.target.region || "global" }),
        clock,
        signal,
      );
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== undefined) throw error;
    }
  }
  return ExecClient.open(client.websocket(path, query), clock, signal);
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const client = clientOf(context, flags);
  if (flags.has("group") && !flags.bool("job")) throw new CommandError("-group goes with -job");
  const [id, ...command] = flags.args;
  if (id === undefined) throw new CommandError("This command takes an allocation, or a job with -job, and a command");
  if (command.length === 0) throw new CommandError("A command is required");
  const { terminal } = context;
  const interactive = !flags.has("i") || flags.bool("i");
  const tty = flags.has("t") ? flags.bool("t") : interactive && terminal !== undefined;
  if (tty && !interactive) throw new CommandError("-i must be enabled if running with tty");
  const escape = flags.string("e", "~");
  if (escape !== "none" && escape.length !== 1) throw new CommandError("-e requires 'none' or a single character");
  const alloc = flags.bool("job") ? await allocOfJob(client, id, flags.string("group")) : await findAlloc(client, id);
  const task = flags.string("task") || onlyTask(alloc);
  checkTask(alloc, task);
  let exec: ExecClient;
  try {
    exec = await open(context, client, alloc, { command: JSON.stringify(command), task, tty });
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(`failed to exec into task: ${error.message}`, { cause: error });
    throw error;
  }
  const restore = tty ? await useTerminal(exec, terminal) : () => undefined;
  try {
    void type(context, exec, interactive, tty ? new EscapeKeys(escape === "none" ? "" : escape) : undefined);
    return await show(context, exec);
  } finally {
    restore();
    exec.close();
  }
}

/** Hands the user's terminal to the program; gives how to take it back. */
async function useTerminal(exec: ExecClient, terminal: UserTerminal | undefined): Promise<() => void> {
  if (terminal === undefined) {
    await exec.send({ tty_size: {} });
    return () => undefined;
  }
  const tell = (): Promise<void> => exec.send({ tty_size: terminal.size() });
  await tell();
  terminal.setRaw(true);
  const forget = terminal.onResize(() => void tell());
  return () => {
    forget();
    terminal.setRaw(false);
  };
}

/** Keys, then their end. */
async function type(
  { stdin }: CommandContext,
  exec: ExecClient,
  interactive: boolean,
  escape: EscapeKeys | undefined,
): Promise<void> {
  if (interactive) {
    for await (const keys of stdin) {
      const { data, leave } = escape?.take(keys) ?? { data: keys, leave: false };
      if (data.length > 0) await exec.send({ stdin: { data: Buffer.from(data).toString("base64") } });
      if (leave) return exec.close();
    }
  }
  await exec.send({ stdin: { close: true } });
}

async function show(context: CommandContext, exec: ExecClient): Promise<number> {
  for await (const { stdout, stderr, exited, result } of exec.frames(context.signal)) {
    if (stdout?.data) context.stdout.write(Buffer.from(stdout.data, "base64"));
    if (stderr?.data) context.stderr.write(Buffer.from(stderr.data, "base64"));
    if (exited === true) {
      if (result === undefined) throw new CommandError("failed to exec into task: the answer holds no exit code");
      return result.exit_code ?? 0;
    }
  }
  throw new CommandError("failed to exec into task: disconnected without receiving the exit code");
}

export const allocExec: Command = {
  name: "alloc exec",
  synopsis: "Run a command beside a task, in its folder and environment",
  usage: `outrider alloc exec [options] <allocation> <command> [<argument> ...]

  -task <name>  The task; needed when there are several
  -job          The argument is a job: its newest allocation is used
  -group <name> With -job: of this group of it
  -i            Pass on the standard input (default; -i=false to disable)
  -t            On a terminal of its own (default when this is one)
  -e <char>     What ends a session with a terminal, at the beginning of a line and followed by a dot (default ~; none)
  -verbose      Whole ids

The exit code is the command's.`,
  flags: { task: "string", job: "bool", group: "string", i: "bool", t: "bool", e: "string", verbose: "bool" },
  client: true,
  run,
};
