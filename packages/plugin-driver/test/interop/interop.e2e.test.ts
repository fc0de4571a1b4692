/** The real go-plugin at the other end, both ways. Skipped with a printed reason where there is no `go` or no module download. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HclSpec, TaskConfig } from "@outrider/plugin-driver";
import { connectPlugin, encodeConfig, type HostedDriver, launchPlugin } from "@outrider/plugin-driver/host";
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

  it.each([
    ["in the clear, as Nomad does", {}],
    ["with AutoMTLS", { INTEROP_MTLS: "1" }],
  ])("is loaded %s, runs a task, reports errors with their details, and ends when asked", async (_how, more) => {
    const spec = {
      kind: "object",
      attributes: { script: { kind: "attr", name: "script", type: "string", required: true } },
    } as const;
    const config = Buffer.from(encodeConfig(spec, { script: "sleep 0.2; exit 5" })).toString("base64");
    const env = { ...process.env, ...more };
    const { stdout } = await run(program, [driver, folder, config], { timeout: 60_000, env });
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
      stats: {
        stats: {
          id: "a/web/0a0b0c0d",
          aggResourceUsage: { memory: { rss: expect.stringMatching(/^\d{6,}$/) as string } },
        },
      },
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
  const signal = AbortSignal.timeout(60_000);
  const task = async (driver: HostedDriver, config: object): Promise<TaskConfig> => {
    mkdirSync(join(folder, "web"), { recursive: true });
    const msgpackDriverConfig = encodeConfig(await driver.taskConfigSchema(), config);
    return taskConfig({ allocDir: folder, msgpackDriverConfig, env: { PATH: "/usr/bin:/bin" } });
  };

  it.each([
    ["in the clear", false],
    ["with AutoMTLS", true],
  ])("answers every kind of call %s", async (_how, autoMtls) => {
    const lines: string[] = [];
    const log = (_fields: object | string, message?: string): void => void lines.push(message ?? "");
    const logger = { trace: log, debug: log, info: log, warn: log, error: log, child: () => logger };
    await using driver = await launchPlugin({ command: program, logger, expect: { name: "interop-go" }, autoMtls });
    const block = encodeConfig((await driver.configSchema()) as HclSpec, { greeting: "hi" });
    await driver.setConfig(block, { clientMinPort: 14_000, clientMaxPort: 14_512 });
    await driver.init();
    expect(await driver.capabilities()).toMatchObject({ networkIsolationModes: ["host", "group"], exec: true });
    for await (const fingerprint of driver.fingerprint(signal)) {
      expect(fingerprint).toEqual({
        attributes: { "driver.interop": { value: true }, "driver.interop.greeting": { value: "hi" } },
        health: "healthy",
        healthDescription: "Healthy",
      });
      break;
    }
    for (const flag of [true, false]) {
      await expect(driver.startTask(await task(driver, { script: "", refuse: String(flag) }))).rejects.toMatchObject({
        message: "boom",
        recoverable: flag,
      });
    }
    const config = await task(driver, { script: "trap 'exit 4' HUP; while :; do sleep 0.05; done" });
    expect((await driver.startTask(config)).handle.config.id).toBe(config.id);
    await expect(driver.startTask(config)).rejects.toMatchObject({ recoverable: false });
    const stats = driver.taskStats(config.id, 20, signal)[Symbol.asyncIterator]();
    expect((await stats.next()).value).toMatchObject({ ResourceUsage: { CpuStats: { Measured: ["Percent"] } } });
    expect((await stats.next()).value?.ResourceUsage?.MemoryStats?.RSS).toBeGreaterThan(100_000);
    await expect(driver.waitTask("nope")).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_TASK_NOT_FOUND" });
    await expect(driver.signalTask(config.id, "SIGNONE")).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_CALL" });
    const exec = driver.execTaskStreaming(
      config.id,
      { command: ["/bin/sh", "-c", "cat; echo oops >&2; exit 6"], tty: false },
      (async function* () {
        yield { stdin: { data: Buffer.from("typed") } };
        yield { stdin: { close: true } };
      })(),
      signal,
    );
    const seen = { stdout: "", stderr: "" };
    for await (const { stdout, stderr, exited } of exec) {
      seen.stdout += Buffer.from(stdout?.data ?? []).toString();
      seen.stderr += Buffer.from(stderr?.data ?? []).toString();
      if (exited !== undefined) expect(exited).toMatchObject({ exitCode: 6 });
    }
    expect(seen).toEqual({ stdout: "typed", stderr: "oops\n" });
    const tty = driver.execTaskStreaming(config.id, { command: ["a"], tty: true }, (async function* () {})(), signal);
    await expect(tty[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_NOT_IMPLEMENTED",
    });
    const wait = driver.waitTask(config.id);
    await driver.signalTask(config.id, "SIGHUP");
    expect(await wait).toEqual({ exitCode: 4, signal: 0, oomKilled: false });
    await stats.return?.();
    await driver.destroyTask(config.id, false);
    expect(lines).toContain("interop plugin up");
  });

  it("survives our end, and its task survives its own: both are found again, with the exit code", async () => {
    const first = await launchPlugin({ command: program });
    const config = await task(first, { script: "sleep 1; exit 9" });
    const { handle } = await first.startTask(config);
    const stats = first.taskStats(config.id, 1000, signal)[Symbol.asyncIterator]();
    await stats.next();
    // As after kill -9 of the host: the plugin lives on, its stderr is gone.
    const record = JSON.parse(JSON.stringify(first.reattach)) as typeof first.reattach;
    first.detach();
    await expect(stats.next()).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    const second = await connectPlugin({ reattach: record, expect: { name: "interop-go" } });
    const wait = expect(second.waitTask(config.id)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    process.kill(record.process?.pid as number, "SIGKILL");
    await wait;
    await expect(connectPlugin({ reattach: record })).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_START" });
    await using third = await launchPlugin({ command: program });
    await third.recoverTask({ ...handle, config: { ...handle.config, msgpackDriverConfig: new Uint8Array() } });
    expect(await third.waitTask(config.id)).toEqual({ exitCode: 9, signal: 0, oomKilled: false });
    await third.destroyTask(config.id, true);
  });
});
