import { ApiError } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { checkTask, findAlloc } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const [id, named] = flags.args;
  if (id === undefined || flags.args.length > 2)
    throw new CommandError("This command takes one or two arguments: <allocation> [<task>]");
  const client = clientOf(context, flags);
  const alloc = await findAlloc(client, id);
  const task = flags.string("task") || named || "";
  if (task !== "") checkTask(alloc, task);
  try {
    await client.put(`/v1/client/allocation/${alloc.ID}/signal`, { Task: task, Signal: flags.string("s", "SIGKILL") });
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(`Error signalling allocation: ${error.message}`, { cause: error });
    throw error;
  }
  return 0;
}

export const allocSignal: Command = {
  name: "alloc signal",
  synopsis: "Send a signal to one or all tasks of an allocation",
  usage: `outrider alloc signal [options] <allocation> [<task>]

  -s <signal>   Its name (default SIGKILL)
  -task <name>  Only this task
  -verbose      Accepted for compatibility`,
  flags: { s: "string", task: "string", verbose: "bool" },
  client: true,
  run,
};
