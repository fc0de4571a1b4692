import { describe, it } from "vitest";
import { defineDriver, schema, RecoverableError } from "../src/index.ts";
import { recoverProcess, spawnProcess } from "../src/serve/index.ts";
import { driverConformance } from "../src/testing/index.ts";

export const shellDriver = () =>
  defineDriver({
    name: "shell",
    version: "0.1.0",
    capabilities: { exec: true },
    taskConfig: schema.object({ script: schema.string().required(), fail: schema.bool().default(false) }),
    start: (config, { script, fail }) =>
      fail
        ? Promise.reject(new RecoverableError("cannot start", false))
        : spawnProcess(config, { command: "/bin/sh", args: ["-c", script] }),
    recover: recoverProcess,
  });

driverConformance(
  { describe, it: (title, body) => it(title, body, 20_000) },
  {
    create: shellDriver,
    tasks: {
      endless: { script: "echo up; while :; do sleep 0.1; done" },
      short: { script: "echo out; echo err >&2; exit 7" },
      shortExitCode: 7,
      unstartable: { script: "", fail: true },
    },
    capabilities: {
      signals: true,
      stats: true,
      exec: { command: ["/bin/sh", "-c", "cat; echo done"], stdout: "done\n" },
    },
  },
);
