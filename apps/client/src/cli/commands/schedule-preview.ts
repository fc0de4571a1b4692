import { formatDuration } from "@outrider/nomad-structs";
import { parseSchedule } from "@outrider/cron-schedule";
import { CommandError, type Command, type CommandContext } from "../command.ts";
import { columns, printable } from "../format.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { JOB_FILE_FLAGS, readJob } from "../read-job.ts";

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const path = flags.args[0];
  if (path === undefined || flags.args.length > 1) throw new CommandError("This command takes one argument: <path>");
  const count = flags.int("n", 5);
  if (count < 1 || count > 1000) throw new CommandError(`-n ${count}: between 1 and 1000 windows can be shown`);
  const { job } = await readJob(context, flags, path);
  const now = context.clock.now();
  let found = 0;
  for (const group of job.TaskGroups ?? []) {
    for (const task of group.Tasks ?? []) {
      const cron = task.Schedule?.Cron;
      if (!cron) continue;
      found++;
      const schedule = parseSchedule({
        start: cron.Start ?? "",
        end: cron.End ?? "",
        ...(cron.Timezone ? { timezone: cron.Timezone } : {}),
      });
      const rows = [...schedule.windows(now, { count })].map((w) => [
        w.localStart,
        w.localEnd,
        formatDuration(w.durationMs * 1e6),
        w.dst ? `clock change: ${w.dst}` : "",
      ]);
      const state = schedule.evaluate(now).inWindow ? "inside its window now" : "outside its window now";
      const title = `Task ${JSON.stringify(task.Name)} of group ${JSON.stringify(group.Name)} (${cron.Timezone || "local time"}): ${state}`;
      const table =
        rows.length === 0
          ? "No window opens in the years that can be looked at"
          : columns([["Start", "End", "Length", "Remark"], ...rows]);
      context.stdout.write(`${printable(`${found > 1 ? "\n" : ""}${title}\n${table}`)}\n`);
    }
  }
  if (found === 0) context.stdout.write("No task of this job has a schedule\n");
  return 0;
}

export const schedulePreview: Command = {
  name: "schedule preview",
  synopsis: "Show the next time windows of a job file's tasks; no agent is asked",
  usage: `outrider schedule preview [options] <path>     (- reads standard input)

  -n <count>           How many windows (default 5)
  -var name=value      A variable of the file; may be repeated
  -var-file <path>     A file of variables; may be repeated
  -json                The file is JSON
  -hcl2-strict=<bool>  Whether unknown variables are refused (default true)`,
  flags: { ...JOB_FILE_FLAGS, n: "int" },
  client: false,
  run,
};
