import { driverConformance } from "@outrider/plugin-driver/testing";
import { afterAll, describe, it } from "vitest";
import { type LocalDriver, makeLocalDriver } from "./local-driver.ts";

let local: LocalDriver | undefined;
afterAll(() => local?.close());

driverConformance(
  { describe, it },
  {
    create: () => {
      local ??= makeLocalDriver();
      return local.again();
    },
    tasks: {
      endless: { command: "sleep", args: ["1000"] },
      short: { command: "sh", args: ["-c", "sleep 0.1; exit 3"] },
      shortExitCode: 3,
      unstartable: { command: "/no/such/program" },
    },
    capabilities: {
      signals: true,
      stats: true,
      exec: { command: ["echo", "inside"], stdout: "inside\n" },
      // a new driver process takes over its tasks by itself: they are known before recovery; see survival.e2e.test.ts
      recover: false,
    },
    skip: [
      {
        id: "start/refuses-a-known-id",
        reason: "a start is idempotent by id: its answer may have been lost with the agent or the driver",
      },
    ],
  },
);
