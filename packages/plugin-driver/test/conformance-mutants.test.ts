/** The conformance suite must notice broken drivers. */
import { describe, expect, it } from "vitest";
import {
  decodeMsgpack,
  type DriverPlugin,
  type ExecInput,
  type ExecOutput,
  type ExecRequest,
  type StartedTask,
  StatsNotImplementedError,
} from "../src/index.ts";
import { CONFORMANCE_CASES, driverConformance, type ConformanceOptions } from "../src/testing/index.ts";
import { broken, EXITED, MemoryDriver, quiet, untilAborted } from "./support/memory-driver.ts";
import type { TaskConfig } from "../src/index.ts";

/** A driver that holds its tasks outside, so that "restarts" find them again. */
class WorldDriver extends MemoryDriver {
  readonly world: Map<string, MemoryDriver>;
  readonly gone = new Set<string>();
  constructor(world: Map<string, MemoryDriver>) {
    super();
    this.world = world;
  }
  override async startTask(config: TaskConfig): Promise<StartedTask> {
    if (this.tasks.has(config.id)) throw new Error("already started");
    if (Array.isArray(decodeMsgpack(config.msgpackDriverConfig))) throw new Error("not a block");
    const started = await super.startTask(config);
    this.world.set(config.id, this);
    const kind = Buffer.from(config.msgpackDriverConfig).toString();
    if (kind.includes("short")) setTimeout(() => this.tasks.get(config.id)?.end(EXITED), 5);
    return started;
  }
  override recoverTask(handle: Parameters<MemoryDriver["recoverTask"]>[0]): Promise<void> {
    const { id } = handle.config;
    if (Buffer.from(handle.driverState).toString() !== "state") return Promise.reject(new Error("foreign state"));
    const owner = this.world.get(id);
    const task = owner?.tasks.get(id);
    if (task === undefined) return super.recoverTask(handle);
    this.tasks.set(id, task);
    return Promise.resolve();
  }
  override async destroyTask(id: string, force: boolean): Promise<void> {
    const task = this.task(id);
    if (task.result === undefined) {
      if (!force) throw new Error("still runs");
      task.end({ exitCode: 137, signal: 9, oomKilled: false });
    }
    return super.destroyTask(id, force);
  }
  override async stopTask(id: string, ms: number, name: string): Promise<void> {
    if (this.task(id).result === undefined) await super.stopTask(id, ms, name);
  }
  override async signalTask(id: string, name: string): Promise<void> {
    if (name === "SIGKILL") this.task(id).end({ exitCode: 137, signal: 9, oomKilled: false });
    else await super.signalTask(id, name);
  }
  override async execTask(id: string, command: readonly string[]): ReturnType<MemoryDriver["execTask"]> {
    this.task(id);
    return { stdout: Buffer.from(command.join(" ")), stderr: new Uint8Array(), exitResult: { ...EXITED, exitCode: 0 } };
  }
  override async *execTaskStreaming(
    id: string,
    request: ExecRequest,
    _input: AsyncIterable<ExecInput>,
    _signal: AbortSignal,
  ): AsyncIterable<ExecOutput> {
    this.task(id);
    yield { stdout: { data: Buffer.from(request.command.join(" ")) } };
    yield { exited: { ...EXITED, exitCode: 0 } };
  }
  override taskEvents(signal: AbortSignal): AsyncIterable<never> {
    return quiet(signal);
  }
}

const OPTIONS = {
  tasks: { endless: { command: "endless" }, short: { command: "short" }, shortExitCode: 3 },
  capabilities: { signals: true, stats: true, exec: { command: ["a", "b"], stdout: "a b" } },
  stepMs: 1_000,
} as const;

/** Runs the suite without a test runner and gives the ids that fail. */
async function failing(
  change: (driver: WorldDriver) => void,
  o: Partial<ConformanceOptions> = {},
  only: readonly string[] = CONFORMANCE_CASES,
): Promise<string[]> {
  const cases: [string, () => Promise<void>][] = [];
  const world = new Map<string, MemoryDriver>();
  const create = (): DriverPlugin => {
    const driver = new WorldDriver(world);
    change(driver);
    return driver;
  };
  driverConformance(
    { describe: (_title, body) => body(), it: (title, body) => void cases.push([title, body]) },
    { create, ...OPTIONS, ...o },
  );
  const failed: string[] = [];
  for (const [title, body] of cases) {
    const id = title.split(/[: ]/)[0] as string;
    if (only.includes(id)) await body().catch(() => failed.push(id));
  }
  return failed.sort();
}

describe("the conformance suite", () => {
  it("lets a good driver pass, with every case", async () => {
    expect(await failing(() => undefined)).toEqual([]);
    expect(CONFORMANCE_CASES).toContain("recover/running");
  }, 20_000);

  it.each<[string, (driver: WorldDriver) => void, string[]]>([
    [
      "a version that is none",
      (d) => (d.info = () => Promise.resolve({ name: "m", type: "driver", version: "dev", apiVersions: ["v0.1.0"] })),
      ["base/info-is-loadable"],
    ],
    ["no schema", (d) => (d.configSchema = () => Promise.resolve(undefined)), ["base/schema-allows-a-config-block"]],
    [
      "chatty events",
      (d) => Object.assign(d, { taskEvents: MemoryDriver.prototype.taskEvents.bind(d) }),
      ["events/stay-open"],
    ],
    [
      "a second start that succeeds",
      (d) =>
        (d.startTask = async (config) => (d.tasks.delete(config.id), WorldDriver.prototype.startTask.call(d, config))),
      ["start/refuses-a-known-id"],
    ],
    [
      "wrong exit codes",
      (d) => (d.waitTask = async (id) => ({ ...(await d.task(id).ended), exitCode: 1 })),
      ["recover/ended-in-the-gap", "wait/exit-code"],
    ],
    [
      "recovery of anything",
      (d) =>
        (d.recoverTask = (h) =>
          WorldDriver.prototype.recoverTask
            .call(d, { ...h, driverState: Buffer.from("state") })
            .catch(() => undefined)),
      ["recover/foreign-state-fails"],
    ],
    [
      "no recovery",
      (d) => (d.recoverTask = (h) => (d.tasks.has(h.config.id) ? Promise.resolve() : Promise.reject(new Error("no")))),
      ["recover/ended-in-the-gap", "recover/running"],
    ],
    [
      "a stop that does nothing",
      (d) => (d.stopTask = (id) => Promise.resolve(void d.task(id))),
      ["recover/running", "stop/at-once", "stop/gentle"],
    ],
    [
      "destroying what runs",
      (d) => (d.destroyTask = (id) => WorldDriver.prototype.destroyTask.call(d, id, true)),
      ["destroy/needs-force"],
    ],
    [
      "any signal name",
      (d) =>
        (d.signalTask = (id, name) =>
          name === "SIGKILL" ? WorldDriver.prototype.signalTask.call(d, id, name) : Promise.resolve()),
      ["signal/known-and-unknown"],
    ],
    [
      "no samples",
      (d) =>
        (d.taskStats = (id) => {
          d.task(id);
          return broken(new StatsNotImplementedError());
        }),
      ["stats/first-at-once-then-end"],
    ],
    [
      "samples without an end",
      (d) =>
        (d.taskStats = async function* (id, _ms, signal) {
          d.task(id);
          yield* d.samples;
          await untilAborted(signal);
        }),
      ["stats/first-at-once-then-end"],
    ],
    [
      "wrong output",
      (d) => (d.execTask = async () => ({ stdout: new Uint8Array(), stderr: new Uint8Array(), exitResult: EXITED })),
      ["exec/output-and-code"],
    ],
    [
      "unknown tasks that succeed",
      (d) =>
        (d.stopTask = (id, ms, name) =>
          d.tasks.has(id) ? WorldDriver.prototype.stopTask.call(d, id, ms, name) : Promise.resolve()),
      ["unknown/not-found"],
    ],
    [
      "a start with any config",
      (d) =>
        (d.startTask = (config) =>
          WorldDriver.prototype.startTask.call(d, { ...config, msgpackDriverConfig: Uint8Array.of(0x80) })),
      ["config/garbage-fails"],
    ],
    [
      "tasks that end with the agent",
      (d) =>
        (d.waitTask = (id, signal) => {
          const task = d.task(id);
          signal?.addEventListener("abort", () => task.end({ exitCode: 137, signal: 9, oomKilled: false }));
          return task.ended;
        }),
      ["reattach/known-tasks"],
    ],
    [
      "a task of long ago that cannot be destroyed",
      (d) =>
        (d.destroyTask = (id, force) =>
          d.tasks.has(id) ? WorldDriver.prototype.destroyTask.call(d, id, force) : Promise.reject(new Error("what?"))),
      ["destroy/unknown-is-idempotent", "recover/long-gone"],
    ],
    [
      "an exec without its output",
      (d) =>
        (d.execTaskStreaming = async function* () {
          yield { exited: { ...EXITED, exitCode: 0 } };
        }),
      ["exec/streaming"],
    ],
    [
      "an exec without an exit",
      (d) =>
        (d.execTaskStreaming = async function* () {
          yield { stdout: { data: Buffer.from("a b") } };
        }),
      ["exec/streaming"],
    ],
  ])(
    "notices %s",
    async (_what, change, ids) => {
      expect(await failing(change, {}, [...new Set([...ids, "destroy/unknown-is-idempotent"])])).toEqual(ids);
    },
    20_000,
  );

  it("knows skipped cases, and fails when one of them holds after all", async () => {
    const skip = (id: string) => [{ id, reason: "known" }];
    const some = ["base/schema-allows-a-config-block", "stop/gentle"];
    const noSchema = (d: WorldDriver): void => void (d.configSchema = () => Promise.resolve(undefined));
    expect(await failing(noSchema, { skip: skip("base/schema-allows-a-config-block") }, some)).toEqual([]);
    expect(await failing(() => undefined, { skip: skip("stop/gentle") }, some)).toEqual(["stop/gentle"]);
    await expect(failing(() => undefined, { skip: skip("no/such") })).rejects.toThrow("no case no/such");
  }, 20_000);

  it("leaves out what is not declared", async () => {
    const silent = (d: WorldDriver): void => {
      d.taskStats = (id) => {
        d.task(id);
        return broken(new StatsNotImplementedError());
      };
    };
    expect(await failing(silent, { capabilities: { recover: false } }, ["stats/silent-when-absent"])).toEqual([]);
  }, 20_000);
});
