/** The real go-plugin at the other end, both ways. Skipped with a printed reason where there is no `go` or no module download. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectPlugin, encodeConfig, launchPlugin } from "@outrider/plugin-driver/host";
import { taskConfig } from "../support/memory-driver.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "opg-"));
const program = join(folder, "interop");

function goMissing(): string | undefined {
  try {
    const env = { ...process.env, GOFLAGS: "-mod=readonly -buildvcs=false" };
    execFileSync("go", ["build", "-o", program, "."], {
      cwd: join(import.meta.dirname, "go"),
      env,
      stdio: "pipe",
      timeout: 300_000,
    });
    return undefined;
  } catch (reason) {
    return reason instanceof Error ? reason.message.split("\n").slice(0, 3).join(" ") : String(reason);
  }
}

const missing = goMissing();
if (missing !== undefined) console.log(`go interop is skipped: ${missing}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(missing !== undefined)("a TypeScript driver in a Go host", () => {
  const driver = join(folder, "driver-shell.mjs");
  const dist = join(import.meta.dirname, "../../dist");
  beforeAll(() => {
    mkdirSync(join(folder, "web"));
    const source = `#!/usr/bin/env node
      import { defineDriver, schema } from "${dist}/index.js";
      import { recoverProcess, serve, spawnProcess } from "${dist}/serve.js";
      await serve(defineDriver({
        name: "shell", version: "0.1.0", taskConfig: schema.object({ script: schema.string().required() }),
        start: (task, { script }) => spawnProcess(task, { command: "/bin/sh", args: ["-c", script] }), recover: recoverProcess,
      }), { onLogger: (logger) => logger.info({ answer: 42 }, "up") });`;
    writeFileSync(driver, source, { mode: 0o755 });
  });

  it("is loaded, runs a task, reports errors with their details, and ends when asked", async () => {
    const spec = {
      kind: "object",
      attributes: { script: { kind: "attr", name: "script", type: "string", required: true } },
    } as const;
    const config = Buffer.from(encodeConfig(spec, { script: "sleep 0.2; exit 5" })).toString("base64");
    const { stdout } = await run(program, [driver, folder, config], { timeout: 60_000 });
    const got = Object.assign(
      {},
      ...stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    ) as Record<string, any>;
    expect(got).toMatchObject({
      ping: true,
      info: { name: "shell", type: "DRIVER", pluginVersion: "0.1.0", pluginApiVersions: ["v0.1.0"] },
      setConfig: {},
      init: {},
      capabilities: { capabilities: { sendSignals: true } },
      fingerprint: { health: "HEALTHY" },
      badStart: {
        code: "FailedPrecondition",
        details: ["type.googleapis.com/hashicorp.nomad.plugins.shared.structs.RecoverableError "],
      },
      start: { handle: { version: 1, state: "RUNNING", config: { id: "a/web/0a0b0c0d" } } },
      stats: { code: "DeadlineExceeded" },
      wait: { result: { exitCode: 5 } },
      destroy: {},
      waitAgain: { code: "Unknown", message: "task not found for given id" },
      exited: true,
    });
    expect(got["killMs"]).toBeLessThan(2_000);
    const up = (got["logs"] as string[])
      .map((line) => JSON.parse(line) as Record<string, string>)
      .find((line) => line["@message"] === "up");
    expect(up).toMatchObject({ "@level": "info", answer: "42" });
    expect(up?.["timestamp"]).toMatch(/T/);
  });
});

describe.skipIf(missing !== undefined)("a Go driver in our host", () => {
  it("runs a task, streams, reports errors, survives our end and is found again", async () => {
    const lines: string[] = [];
    const log = (_fields: object | string, message?: string): void => void lines.push(message ?? "");
    const logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
    const first = await launchPlugin({ command: program, logger, expect: { name: "interop-go" } });
    await first.setConfig(new Uint8Array(), { clientMinPort: 14_000, clientMaxPort: 14_512 });
    await first.init();
    expect(await first.capabilities()).toMatchObject({ networkIsolationModes: ["host", "group"], exec: false });
    const signal = AbortSignal.timeout(20_000);
    for await (const fingerprint of first.fingerprint(signal)) {
      expect(fingerprint).toEqual({
        attributes: { "driver.interop": { value: true } },
        health: "healthy",
        healthDescription: "Healthy",
      });
      break;
    }
    for (const flag of [true, false]) {
      await expect(first.startTask(taskConfig({ env: { FAIL: String(flag) } }))).rejects.toMatchObject({
        message: "boom",
        recoverable: flag,
      });
    }
    const config = taskConfig({ env: { SCRIPT: "sleep 60" } });
    const { handle } = await first.startTask(config);
    expect(handle.config.id).toBe(config.id);
    const stats = first.taskStats(config.id, 1000, signal)[Symbol.asyncIterator]();
    expect((await stats.next()).value).toMatchObject({
      ResourceUsage: { CpuStats: { Percent: 1.5, Measured: ["Percent"] } },
    });
    await expect(first.waitTask("nope")).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    const exec = first.execTaskStreaming(config.id, { command: ["a"], tty: false }, (async function* () {})(), signal);
    await expect(exec[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED",
    });
    expect(lines).toContain("interop plugin up");

    // As after kill -9 of the host: the plugin lives on, its stderr is gone.
    const record = JSON.parse(JSON.stringify(first.reattach)) as typeof first.reattach;
    first.detach();
    await expect(stats.next()).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    const second = await connectPlugin({ reattach: record, expect: { name: "interop-go" } });
    const wait = second.waitTask(config.id);
    await second.stopTask(config.id, 0, "");
    expect(await wait).toEqual({ exitCode: 137, signal: 9, oomKilled: false });
    await second.destroyTask(config.id, true);
    await second.stop();
    await expect(connectPlugin({ reattach: record })).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_START" });
  });
});
