/** The cases of one task's life. */
import assert from "node:assert/strict";
import { codeOf, next, NOT_FOUND, silent, startOn } from "./case-tools.ts";
import type { Case } from "./conformance-case.ts";

export const TASK_CASES: readonly Case[] = [
  {
    id: "base/info-is-loadable",
    title: "the agent can load the plugin: type, name, semantic version, API version",
    async run(bench) {
      const info = await bench.driver.info();
      assert.equal(info.type, "driver");
      assert.match(info.name, /^[\w.-]+$/);
      assert.match(info.version, /^v?\d+\.\d+\.\d+(-[\w.]+)?$/);
      assert.ok(info.apiVersions.includes("v0.1.0"));
    },
  },
  {
    id: "base/schema-allows-a-config-block",
    title: "the plugin's schema is an object",
    async run(bench) {
      assert.equal((await bench.driver.configSchema())?.kind, "object");
    },
  },
  {
    id: "fingerprint/first-at-once-and-open",
    title: "the first fingerprint comes at once and the stream stays open",
    async run(bench, _o, within) {
      const stop = new AbortController();
      const iterator = bench.driver.fingerprint(stop.signal)[Symbol.asyncIterator]();
      assert.notEqual(await within(next(iterator), "fingerprint"), undefined);
      assert.ok(await silent(iterator, 200), "the stream went on or ended");
      stop.abort();
    },
  },
  {
    id: "events/stay-open",
    title: "the event stream stays open while nothing happens",
    async run(bench) {
      const stop = new AbortController();
      assert.ok(await silent(bench.driver.taskEvents(stop.signal)[Symbol.asyncIterator](), 200));
      stop.abort();
    },
  },
  {
    id: "start/complete-handle",
    title: "a start gives a handle with version, config and state",
    async run(bench, o, within) {
      const { config } = await bench.task(o.tasks.endless);
      const { handle } = await within(bench.driver.startTask(config), "start");
      assert.ok(handle.version >= 1);
      assert.equal(handle.config.id, config.id);
      assert.ok(handle.driverState.length > 0);
      await within(bench.driver.destroyTask(config.id, true), "destroy");
    },
  },
  {
    id: "start/refuses-a-known-id",
    title: "a second start of the same id fails and does not disturb the first",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      assert.notEqual(await codeOf(within(bench.driver.startTask(config), "start")), "no error");
      assert.equal((await bench.driver.inspectTask(config.id)).status.state, "running");
      await within(bench.driver.destroyTask(config.id, true), "destroy");
    },
  },
  {
    id: "start/unstartable-fails",
    title: "a task that cannot be started fails, and leaves nothing to wait for",
    needs: "unstartable",
    async run(bench, o, within) {
      const { config } = await bench.task(o.tasks.unstartable);
      assert.notEqual(await codeOf(within(bench.driver.startTask(config), "start")), "no error");
      assert.equal(await codeOf(bench.driver.waitTask(config.id)), NOT_FOUND);
    },
  },
  {
    id: "wait/exit-code",
    title: "every waiter gets the exit code, also after the end, until the task is destroyed",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.short);
      const both = [bench.driver.waitTask(config.id), bench.driver.waitTask(config.id)];
      for (const result of await within(Promise.all(both), "wait"))
        assert.equal(result.exitCode, o.tasks.shortExitCode);
      assert.equal((await bench.driver.waitTask(config.id)).exitCode, o.tasks.shortExitCode);
      await bench.driver.stopTask(config.id, 1_000, "");
      await bench.driver.destroyTask(config.id, false);
      assert.equal(await codeOf(bench.driver.waitTask(config.id)), NOT_FOUND);
    },
  },
  {
    id: "unknown/not-found",
    title: "calls for an unknown task fail with not found",
    async run(bench) {
      const { driver } = bench;
      assert.equal(await codeOf(driver.waitTask("nope")), NOT_FOUND);
      assert.equal(await codeOf(driver.stopTask("nope", 0, "")), NOT_FOUND);
      assert.equal(await codeOf(driver.inspectTask("nope")), NOT_FOUND);
      const stats = driver.taskStats("nope", 1_000, AbortSignal.timeout(5_000))[Symbol.asyncIterator]();
      assert.equal(await codeOf(next(stats)), NOT_FOUND);
    },
  },
  {
    id: "destroy/unknown-is-idempotent",
    title: "destroying an unknown task by force succeeds or says not found",
    async run(bench) {
      assert.ok(["no error", NOT_FOUND].includes(await codeOf(bench.driver.destroyTask("nope", true))));
    },
  },
  {
    id: "stop/gentle",
    title: "a stop ends the task within its time-out, and the waiter learns it",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      const wait = bench.driver.waitTask(config.id);
      await within(bench.driver.stopTask(config.id, 5_000, ""), "stop");
      await within(wait, "wait");
      assert.equal((await bench.driver.inspectTask(config.id)).status.state, "exited");
      await bench.driver.destroyTask(config.id, false);
    },
  },
  {
    id: "stop/at-once",
    title: "a stop with time-out 0 kills",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      await within(bench.driver.stopTask(config.id, 0, ""), "stop");
      await within(bench.driver.waitTask(config.id), "wait");
      await bench.driver.destroyTask(config.id, false);
    },
  },
  {
    id: "destroy/needs-force",
    title: "a running task is destroyed by force only",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      assert.notEqual(await codeOf(bench.driver.destroyTask(config.id, false)), "no error");
      await within(bench.driver.destroyTask(config.id, true), "destroy");
      assert.equal(await codeOf(bench.driver.inspectTask(config.id)), NOT_FOUND);
    },
  },
  {
    id: "signal/known-and-unknown",
    title: "signals reach the task; an unknown name is an error",
    needs: "signals",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      assert.notEqual(await codeOf(bench.driver.signalTask(config.id, "SIGBOGUS")), "no error");
      await bench.driver.signalTask(config.id, "SIGKILL");
      await within(bench.driver.waitTask(config.id), "wait");
      await bench.driver.destroyTask(config.id, true);
    },
  },
  {
    id: "stats/first-at-once-then-end",
    title: "the first sample comes at once and the stream ends with the task",
    needs: "stats",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      const iterator = bench.driver.taskStats(config.id, 200, new AbortController().signal)[Symbol.asyncIterator]();
      const sample = await within(next(iterator), "sample");
      assert.ok(sample !== undefined && sample.Timestamp > 0);
      await bench.driver.destroyTask(config.id, true);
      const drain = async (): Promise<void> => {
        while ((await next(iterator)) !== undefined);
      };
      await within(drain(), "end of stats");
    },
  },
  {
    id: "stats/silent-when-absent",
    title: "without statistics the stream stays open and silent",
    needs: "no-stats",
    async run(bench, o) {
      const { config } = await startOn(bench, o.tasks.endless);
      const stop = new AbortController();
      assert.ok(await silent(bench.driver.taskStats(config.id, 100, stop.signal)[Symbol.asyncIterator](), 300));
      stop.abort();
      await bench.driver.destroyTask(config.id, true);
    },
  },
  {
    id: "exec/output-and-code",
    title: "a command inside the task gives its output and exit code",
    needs: "exec",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      const { command = [], stdout = "" } = o.capabilities?.exec ?? {};
      const result = await within(bench.driver.execTask(config.id, command, 5_000), "exec");
      assert.equal(Buffer.from(result.stdout).toString(), stdout);
      assert.equal(result.exitResult.exitCode, 0);
      await bench.driver.destroyTask(config.id, true);
    },
  },
  {
    id: "recover/known-id",
    title: "recovery of a task that is known already succeeds",
    async run(bench, o) {
      const { config, handle } = await startOn(bench, o.tasks.endless);
      await bench.driver.recoverTask(handle);
      await bench.driver.recoverTask(bench.stored(handle));
      await bench.driver.destroyTask(config.id, true);
    },
  },
  {
    id: "recover/running",
    title: "a new instance finds a running task again, without its config block",
    needs: "recover",
    async run(bench, o, within) {
      const { config, handle } = await startOn(bench, o.tasks.endless);
      await bench.restart();
      assert.equal(await codeOf(bench.driver.waitTask(config.id)), NOT_FOUND);
      await within(bench.driver.recoverTask(bench.stored(handle)), "recover");
      assert.equal((await bench.driver.inspectTask(config.id)).status.state, "running");
      const wait = bench.driver.waitTask(config.id);
      await within(bench.driver.stopTask(config.id, 5_000, ""), "stop");
      await within(wait, "wait");
      await bench.driver.destroyTask(config.id, false);
    },
  },
  {
    id: "recover/ended-in-the-gap",
    title: "the exit code of a task that ended while no plugin ran is right",
    needs: "recover",
    async run(bench, o, within) {
      const { config, handle } = await startOn(bench, o.tasks.short);
      await within(bench.driver.waitTask(config.id), "wait");
      await bench.restart();
      await within(bench.driver.recoverTask(bench.stored(handle)), "recover");
      assert.equal((await within(bench.driver.waitTask(config.id), "wait")).exitCode, o.tasks.shortExitCode);
      await bench.driver.destroyTask(config.id, true);
    },
  },
  {
    id: "recover/foreign-state-fails",
    title: "a handle of another driver is refused",
    async run(bench, o) {
      const { config, handle } = await startOn(bench, o.tasks.short);
      await bench.driver.destroyTask(config.id, true);
      const foreign = { ...handle, driverState: new TextEncoder().encode("not of this driver") };
      assert.notEqual(await codeOf(bench.driver.recoverTask(foreign)), "no error");
    },
  },
];
