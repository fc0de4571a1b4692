import { ApiError } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { checkTask, findAlloc } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const [id, named] = flags.args;
  if (id === undefined || flags.args.length > 2)
    throw new CommandError("This command takes one or two arguments: <allocation> [<task>]");
  const task = flags.string("task") || named || "";
  const all = flags.bool("all-tasks");
  if (all && task !== "")
    throw new CommandError("The -all-tasks option is not allowed when restarting a specific task.");
  const client = clientOf(context, flags);
  const alloc = await findAlloc(client, id);
  if (task !== "") checkTask(alloc, task);
  try {
    await client.put(`/v1/client/allocation/${alloc.ID}/restart`, { TaskName: task, AllTasks: all });
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(`Failed to restart allocation: ${error.message}`, { cause: error });
    throw error;
  }
  return 0;
}

export const allocRestart: Command = {
  name: "alloc restart",
  synopsis: "Restart the running tasks of an allocation, or one of them",
  usage: `outrider alloc restart [options] <allocation> [<task>]

  -task <name>  Only this task
  -all-tasks    Also tasks that have ended: prestart tasks run again first
  -verbose      Accepted for compatibility`,
  flags: { task: "string", "all-tasks": "bool", verbose: "bool" },
  client: true,
  run,
};
