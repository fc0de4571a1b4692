import { allocRunnerUser } from "./alloc-runner.mjs";
import { allocSyncUser } from "./alloc-sync.mjs";
import { backoffUser } from "./backoff.mjs";
import { cronScheduleUser } from "./cron-schedule.mjs";
import { hclUser } from "./hcl.mjs";
import { hookResourcesUser } from "./hook-resources.mjs";
import { hookTelemetryUser } from "./hook-telemetry.mjs";
import { statsHookUser } from "./stats-hook.mjs";

async function main(): Promise<void> {
  await backoffUser();
  cronScheduleUser();
  hclUser();
  await hookResourcesUser();
  await hookTelemetryUser();
  await allocSyncUser();
  await statsHookUser();
  await allocRunnerUser();
  console.log("every user is content");
}
main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
