import { describe, expect, it } from "vitest";
import { isTaskNotFound, type DriverPlugin, type ExecInput, type ExecOutput } from "../src/index.ts";
import { carried } from "./support/carried.ts";
import { connected } from "./support/pair.ts";
import { EXITED, MemoryDriver, SAMPLE, taskConfig } from "./support/memory-driver.ts";

const first = async <T>(source: AsyncIterable<T>): Promise<T> => {
  for await (const item of source) return item;
  throw new Error("ended without an item");
};

describe.each([
  ["a socket", connected],
  ["a carrier of the caller's own", carried],
] as const)("a driver behind %s", (_name, connect) => {
  it("answers the base calls as the driver object does", async () => {
    const driver = new MemoryDriver();
    await using pair = await connect(driver);
    expect(await pair.client.info()).toEqual(await driver.info());
    expect(await pair.client.configSchema()).toEqual({ kind: "object", attributes: {} });
    expect(await pair.client.taskConfigSchema()).toEqual(await driver.taskConfigSchema());
    expect(await pair.client.capabilities()).toEqual(await driver.capabilities());
    await pair.client.setConfig(new Uint8Array([0x80]), { clientMinPort: 14000, clientMaxPort: 14512 });
    expect(driver.config).toEqual(new Uint8Array([0x80]));
    expect(driver.nomad).toEqual({ clientMinPort: 14000, clientMaxPort: 14512 });
    await pair.client.shutdown();
  });

  it("runs the life of a task", async () => {
    const driver = new MemoryDriver();
    await using pair = await connect(driver);
    const { client } = pair;
    const config = taskConfig();
    const { handle, network } = await client.startTask(config);
    expect(network).toEqual({ portMap: { http: 8080 }, address: "10.0.0.2", autoAdvertise: true });
    expect(handle.version).toBe(1);
    expect(Buffer.from(handle.driverState).toString()).toBe("state");
    expect(handle.config).toEqual(config);
    expect(driver.task(config.id).config.env).toEqual({ HOME: "/" });
    const waits = [client.waitTask(config.id), client.waitTask(config.id)];
    expect((await client.inspectTask(config.id)).status).toMatchObject({ state: "running", startedAtMs: 1.7e12 });
    await client.signalTask(config.id, "SIGHUP");
    await expect(client.signalTask(config.id, "SIGX")).rejects.toThrow("unknown signal SIGX");
    await client.recoverTask(handle);
    await client.stopTask(config.id, 3000, "");
    expect(await Promise.all(waits)).toEqual(Array(2).fill({ exitCode: 130, signal: 2, oomKilled: false }));
    expect((await client.inspectTask(config.id)).status.exitResult).toMatchObject({ exitCode: 130 });
    await client.destroyTask(config.id, true);
    const lost = await client.waitTask(config.id).catch((reason: unknown) => reason);
    expect(isTaskNotFound(lost)).toBe(true);
    expect(driver.calls).toContain("stop 3000 ");
  });

  it("streams fingerprints, events and samples until the signal", async () => {
    const driver = new MemoryDriver();
    await using pair = await connect(driver);
    const { client } = pair;
    const signal = AbortSignal.timeout(5_000);
    expect(await first(client.fingerprint(signal))).toEqual(await first(driver.fingerprint(signal)));
    expect(await first(client.taskEvents(signal))).toEqual(await first(driver.taskEvents(signal)));
    const { handle } = await client.startTask(taskConfig());
    const seen: unknown[] = [];
    for await (const sample of client.taskStats(handle.config.id, 250, signal)) {
      seen.push(sample);
      driver.task(handle.config.id).end(EXITED);
    }
    expect(seen).toEqual([SAMPLE]);
    expect(driver.calls).toContain("stats 250");
  });

  it("runs commands inside a task", async () => {
    const driver = new MemoryDriver();
    await using pair = await connect(driver);
    const { handle } = await pair.client.startTask(taskConfig());
    const result = await pair.client.execTask(handle.config.id, ["a", "b"], 1500);
    expect(Buffer.from(result.stdout).toString()).toBe("a b");
    expect(Buffer.from(result.stderr).toString()).toBe("1500");
    expect(result.exitResult).toEqual(EXITED);
    async function* keys(): AsyncIterable<ExecInput> {
      yield { ttySize: { width: 80, height: 24 } };
      yield { stdin: { data: Buffer.from("hi") } };
      yield {};
      yield { stdin: { close: true } };
    }
    const frames: ExecOutput[] = [];
    const stream = pair.client.execTaskStreaming(
      handle.config.id,
      { command: ["sh"], tty: true },
      keys(),
      AbortSignal.timeout(5_000),
    );
    for await (const frame of stream) frames.push(frame);
    expect(frames.map((frame) => Object.keys(frame)[0])).toEqual(["stdout", "stderr", "stderr", "stdout", "exited"]);
    expect(frames.at(-1)).toEqual({ exited: EXITED });
    expect(driver.calls).toContain("tty 80x24");
  });
});

const closedCalls: readonly [string, (driver: DriverPlugin) => Promise<unknown>][] = [
  ["info", (d) => d.info()],
  ["waitTask", (d) => d.waitTask("x")],
  ["startTask", (d) => d.startTask(taskConfig())],
  ["taskStats", (d) => first(d.taskStats("x", 1000, AbortSignal.timeout(5000)))],
];

describe("a connection that is gone", () => {
  it.each(closedCalls)("rejects %s made afterwards as plugin shutdown", async (_name, call) => {
    const pair = await connected(new MemoryDriver());
    await pair.server.close();
    await pair.client.gone;
    await expect(call(pair.client)).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await pair[Symbol.asyncDispose]();
  });

  it("rejects the calls that were pending", async () => {
    const driver = new MemoryDriver();
    const pair = await connected(driver);
    const { handle } = await pair.client.startTask(taskConfig());
    const wait = expect(pair.client.waitTask(handle.config.id)).rejects.toMatchObject({
      code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN",
    });
    const stats = pair.client.taskStats(handle.config.id, 1000, AbortSignal.timeout(5000))[Symbol.asyncIterator]();
    await stats.next();
    const sample = expect(stats.next()).rejects.toMatchObject({ code: "ERR_OUTRIDER_PLUGIN_SHUTDOWN" });
    await pair.server.close();
    await wait;
    await sample;
    await pair[Symbol.asyncDispose]();
  });
});
