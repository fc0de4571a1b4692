import { clientOf, CommandError, type Command, type CommandContext } from "../command.ts";
import { printable } from "../format.ts";
import type { ParsedFlags } from "../go-flags.ts";
import { JOB_FILE_FLAGS, readJob } from "../read-job.ts";

interface ValidateAnswer {
  DriverConfigValidated?: boolean;
  ValidationErrors?: string[] | null;
  Error?: string;
  Warnings?: string;
}

async function run(context: CommandContext, flags: ParsedFlags): Promise<number> {
  const path = flags.args[0];
  if (path === undefined || flags.args.length > 1) throw new CommandError("This command takes one argument: <path>");
  const { job } = await readJob(context, flags, path);
  const client = clientOf(context, flags);
  const { value } = await client.put<ValidateAnswer>("/v1/validate/job", {
    Job: job,
    Region: job.Region ?? "",
    Namespace: job.Namespace ?? "",
  });
  const errors = value.ValidationErrors ?? [];
  if (errors.length > 0 || value.Error) {
    const list = errors.length > 0 ? errors : [value.Error as string];
    throw new CommandError(
      `Job validation errors:\n${list.length} error${list.length === 1 ? "" : "s"} occurred:\n${list.map((text) => `\t* ${text}`).join("\n")}`,
    );
  }
  if (value.Warnings) context.stdout.write(`Job Warnings:\n${printable(value.Warnings)}\n\n`);
  context.stdout.write("Job validation successful\n");
  return 0;
}

export const jobValidate: Command = {
  name: "job validate",
  synopsis: "Check a job file without submitting it",
  usage: `outrider job validate [options] <path>     (- reads standard input)

  -var name=value      A variable of the file; may be repeated
  -var-file <path>     A file of variables; may be repeated
  -json                The file is JSON
  -hcl2-strict=<bool>  Whether unknown variables are refused (default true)`,
  flags: JOB_FILE_FLAGS,
  client: true,
  run,
};
