import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { findJob } from "../find-one.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { Monitor } from "../monitor.ts";
import type { JobView } from "../views.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  if (flags.args.length === 0) throw new CommandError("This command takes at least one argument: <job>");
  const client = clientOf(context, flags);
  let code = 0;
  for (const prefix of flags.args) {
    const stub = await findJob(client, prefix);
    // Stopping the wrong job is not undone: a prefix must not be guessed silently.
    if (stub.ID !== prefix.trim() && !flags.bool("yes"))
      throw new CommandError(
        `Prefix ${JSON.stringify(prefix)} matches job ${JSON.stringify(stub.ID)}: name it whole, or give -yes`,
      );
    const path = `/v1/job/${encodeURIComponent(stub.ID)}`;
    const namespace = stub.Namespace ?? "default";
    const { value: job } = await client.get<JobView>(path, { namespace });
    const { value } = await client.delete<{ EvalID: string }>(path, {
      namespace,
      eval_priority: flags.int("eval-priority", 0),
      global: flags.bool("global"),
      no_shutdown_delay: flags.bool("no-shutdown-delay"),
      purge: flags.bool("purge"),
    });
    // A periodic or parameterized job has nothing of its own to follow.
    if (value.EvalID === "" || job.Periodic || job.ParameterizedJob) continue;
    if (flags.bool("detach")) context.stdout.write(`${value.EvalID}\n`);
    else
      code = Math.max(
        code,
        await new Monitor(context, client, { verbose: flags.bool("verbose") }).evaluation(value.EvalID),
      );
  }
  return code;
}

export const jobStop: Command = {
  name: "job stop",
  synopsis: "Stop jobs and all their tasks",
  usage: `outrider job stop [options] <job>...

  -detach             Print the evaluation's id and return
  -purge              Also forget the job
  -no-shutdown-delay  Do not wait for shutdown_delay
  -global             Accepted for compatibility: there is one region here
  -eval-priority <n>  Priority of the evaluation
  -yes                A prefix that matches one job is enough
  -verbose            Whole ids`,
  flags: {
    detach: "bool",
    purge: "bool",
    "no-shutdown-delay": "bool",
    global: "bool",
    "eval-priority": "int",
    yes: "bool",
    verbose: "bool",
  },
  client: true,
  run,
};
