import { ApiError } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { checkTask, findAlloc } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";

const ACTIONS = ["pause", "run", "scheduled"];

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const action = flags.string("state", "pause");
  if (!ACTIONS.includes(action))
    throw new CommandError(
      `Pause action must be one of "pause", "run", or "scheduled" but got ${JSON.stringify(action)}`,
    );
  const [id, named] = flags.args;
  if (id === undefined || flags.args.length > 2)
    throw new CommandError("This command takes one or two arguments: <allocation> [<task>]");
  const client = clientOf(context, flags);
  const alloc = await findAlloc(client, id);
  const task = flags.string("task") || named || "";
  if (task !== "") checkTask(alloc, task);
  const path = `/v1/client/allocation/${alloc.ID}/pause`;
  const asking = flags.bool("status");
  try {
    if (asking) {
      const { value } = await client.get<{ ScheduleState: string }>(path, { task });
      context.stdout.write(`Pause state: ${JSON.stringify(value.ScheduleState)}\n`);
    } else {
      await client.put(path, { Task: task, ScheduleState: action });
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new CommandError(
      `${asking ? "Error getting task pause state" : "Error setting pause state"}: ${error.message}`,
      { cause: error },
    );
  }
  return 0;
}

export const allocPause: Command = {
  name: "alloc pause",
  synopsis: "Pause a task, run it outside its window, or give it back to its schedule",
  usage: `outrider alloc pause [options] <allocation> [<task>]

  -state pause|run|scheduled  What to do (default pause)
  -status                     Only show the present state
  -task <name>                The task; without it all main tasks
  -verbose                    Accepted for compatibility`,
  flags: { state: "string", status: "bool", task: "string", verbose: "bool" },
  client: true,
  run,
};
