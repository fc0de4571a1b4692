import { ApiError } from "../api-client.ts";
import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { instant, printable, until } from "../format.ts";
import { UsageError, type ParsedFlags } from "../go-flags.ts";
import { Monitor } from "../monitor.ts";
import { JOB_FILE_FLAGS, readJob } from "../read-job.ts";
import { waitingTasks } from "../waiting-tasks.ts";
import { parseCron } from "@outrider/cron-schedule";

interface RegisterAnswer {
  EvalID: string;
  Warnings: string;
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const path = flags.args[0];
  if (path === undefined || flags.args.length > 1) throw new CommandError("This command takes one argument: <path>");
  const { job, source, format, variableFlags } = await readJob(context, flags, path);
  if (flags.bool("output")) {
    context.stdout.write(`${JSON.stringify({ Job: job }, null, 4)}\n`);
    return 0;
  }
  const check = flags.string("check-index");
  if (check !== "" && !/^\d{1,15}$/.test(check))
    throw new UsageError(`flag -check-index: ${JSON.stringify(check)} is not an index`, "check-index");
  const client = clientOf(context, flags);
  const body = {
    Job: job,
    Submission: { Source: source, Format: format, VariableFlags: variableFlags, Variables: "" },
    ...(check === "" ? {} : { EnforceIndex: true, JobModifyIndex: Number(check) }),
    ...(flags.bool("preserve-counts") ? { PreserveCounts: true } : {}),
    ...(flags.has("eval-priority") ? { EvalPriority: flags.int("eval-priority", 0) } : {}),
  };
  let answer: RegisterAnswer;
  try {
    answer = (await client.put<RegisterAnswer>("/v1/jobs", body)).value;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (check !== "" && error.body.includes("Enforcing job modify index"))
      throw new CommandError(`${error.body}\nJob not updated`, { cause: error });
    throw new CommandError(`Error submitting job: ${error.message}`, { cause: error });
  }
  if (answer.Warnings) context.stdout.write(`Job Warnings:\n${printable(answer.Warnings)}\n\n`);
  if (job.Periodic || job.ParameterizedJob || flags.bool("detach") || answer.EvalID === "") {
    context.stdout.write("Job registration successful\n");
    if (job.Periodic && !job.ParameterizedJob) {
      const now = context.clock.now();
      const specs = job.Periodic.Specs?.length ? job.Periodic.Specs : [job.Periodic.Spec ?? ""];
      const next = specs
        .map((spec) =>
          parseCron(spec, { timezone: job.Periodic?.TimeZone || "UTC" })
            .next(now)
            ?.getTime(),
        )
        .filter((t) => t !== undefined);
      if (next.length > 0)
        context.stdout.write(
          `Approximate next launch time: ${instant(Math.min(...next) * 1e6)} (${until(Math.min(...next), now)})\n`,
        );
    } else if (answer.EvalID !== "" && !job.ParameterizedJob) context.stdout.write(`Evaluation ID: ${answer.EvalID}\n`);
    return 0;
  }
  const waiting = waitingTasks(job, context.clock.now());
  return new Monitor(context, client, { verbose: flags.bool("verbose"), waiting }).evaluation(answer.EvalID);
}

export const jobRun: Command = {
  name: "job run",
  synopsis: "Submit a job file, or an update of it",
  usage: `outrider job run [options] <path>     (- reads standard input)

  -detach                Return when the job is registered
  -output                Print the job as JSON and submit nothing
  -check-index <n>       Only if the job's modify index is this one (0: only if new)
  -var name=value        A variable of the file; may be repeated
  -var-file <path>       A file of variables; may be repeated
  -json                  The file is JSON
  -hcl2-strict=<bool>    Whether unknown variables are refused (default true)
  -preserve-counts       Keep the counts of a running job
  -eval-priority <n>     Priority of the evaluation
  -verbose               Whole ids`,
  flags: {
    ...JOB_FILE_FLAGS,
    "check-index": "string",
    detach: "bool",
    "eval-priority": "int",
    output: "bool",
    "preserve-counts": "bool",
    verbose: "bool",
  },
  client: true,
  run,
};
