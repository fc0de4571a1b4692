import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { findAlloc } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { Monitor } from "../monitor.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const id = flags.args[0];
  if (id === undefined || flags.args.length > 1)
    throw new CommandError("This command takes one argument: <allocation>");
  const client = clientOf(context, flags);
  const alloc = await findAlloc(client, id);
  const { value } = await client.put<{ EvalID: string }>(`/v1/allocation/${alloc.ID}/stop`, undefined, {
    ...(flags.bool("no-shutdown-delay") ? { no_shutdown_delay: true } : {}),
    ...(flags.bool("reschedule") ? { reschedule: true } : {}),
  });
  if (flags.bool("detach")) {
    context.stdout.write(`${value.EvalID}\n`);
    return 0;
  }
  return new Monitor(context, client, { verbose: flags.bool("verbose") }).evaluation(value.EvalID);
}

export const allocStop: Command = {
  name: "alloc stop",
  synopsis: "Stop an allocation; a service gets a new one",
  usage: `outrider alloc stop [options] <allocation>

  -detach             Print the evaluation's id and return
  -no-shutdown-delay  Do not wait for shutdown_delay
  -reschedule         Also where the job's policy would not place a new one
  -verbose            Whole ids`,
  flags: { detach: "bool", "no-shutdown-delay": "bool", reschedule: "bool", verbose: "bool" },
  client: true,
  run,
};
