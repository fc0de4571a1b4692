import type { Command } from "./command.ts";
import { agent } from "./commands/agent.ts";
import { allocExec } from "./commands/alloc-exec.ts";
import { allocLogs } from "./commands/alloc-logs.ts";
import { allocPause } from "./commands/alloc-pause.ts";
import { allocRestart } from "./commands/alloc-restart.ts";
import { allocSignal } from "./commands/alloc-signal.ts";
import { allocStatus } from "./commands/alloc-status.ts";
import { allocStop } from "./commands/alloc-stop.ts";
import { jobRun } from "./commands/job-run.ts";
import { jobStatus } from "./commands/job-status.ts";
import { jobStop } from "./commands/job-stop.ts";
import { jobValidate } from "./commands/job-validate.ts";
import { nodeStatus } from "./commands/node-status.ts";
import { schedulePreview } from "./commands/schedule-preview.ts";
import { version } from "./commands/version.ts";

/** Every command of the program. */
export const COMMANDS: readonly Command[] = [
  agent,
  allocExec,
  allocLogs,
  allocPause,
  allocRestart,
  allocSignal,
  allocStatus,
  allocStop,
  jobRun,
  jobStatus,
  jobStop,
  jobValidate,
  nodeStatus,
  schedulePreview,
  version,
];
