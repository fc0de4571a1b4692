import { project } from "@outrider/build-config/vitest";

// Scans minute by minute and child processes take a while on a busy machine.
export default project("cron-schedule", { testTimeout: 60_000 });
