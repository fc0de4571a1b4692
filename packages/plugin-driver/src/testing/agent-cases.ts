/** More cases: what an agent does when it is killed, gets odd input, or comes back for tasks of long ago. */
import assert from "node:assert/strict";
import type { ExecInput } from "../contract/driver.ts";
import { codeOf, NOT_FOUND, pending, startOn } from "./case-tools.ts";
import type { Case } from "./conformance-case.ts";

/** Config bytes that no schema lets through: no msgpack at all, and a list where a block belongs. */
const GARBAGE = [Uint8Array.of(0xc1), Uint8Array.of(0x91, 0xc0)];

async function* closedInput(): AsyncGenerator<ExecInput> {
  yield { stdin: { close: true } };
}

export const AGENT_CASES: readonly Case[] = [
  {
    id: "config/garbage-fails",
    title: "a config that cannot be read fails the start, and leaves nothing to wait for",
    async run(bench, o, within) {
      for (const msgpackDriverConfig of GARBAGE) {
        const { config } = await bench.task(o.tasks.endless, { msgpackDriverConfig });
        assert.notEqual(await codeOf(within(bench.driver.startTask(config), "start")), "no error");
        assert.equal(await codeOf(bench.driver.waitTask(config.id)), NOT_FOUND);
      }
    },
  },
  {
    id: "reattach/known-tasks",
    title: "an agent that was killed finds the plugin's tasks: its end cancels waits, not tasks",
    async run(bench, o, within) {
      const { config, handle } = await startOn(bench, o.tasks.endless);
      const lost = bench.driver.waitTask(config.id);
      lost.catch(() => undefined);
      // A call behind it: the wait has certainly arrived.
      await bench.driver.inspectTask(config.id);
      await bench.reattach();
      await within(bench.driver.recoverTask(bench.stored(handle)), "recover");
      const wait = bench.driver.waitTask(config.id);
      assert.ok(await pending(wait, 200), "the task has ended with the agent");
      await within(bench.driver.stopTask(config.id, 5_000, ""), "stop");
      await within(wait, "wait");
      await bench.driver.destroyTask(config.id, false);
    },
  },
  {
    id: "recover/long-gone",
    title: "a task that was destroyed before a restart is recovered or refused, and destroyed once more without harm",
    needs: "recover",
    async run(bench, o, within) {
      const { config, handle } = await startOn(bench, o.tasks.short);
      await within(bench.driver.waitTask(config.id), "wait");
      await bench.driver.destroyTask(config.id, true);
      await bench.restart();
      await codeOf(within(bench.driver.recoverTask(bench.stored(handle)), "recover"));
      const code = await codeOf(within(bench.driver.destroyTask(config.id, true), "destroy"));
      assert.ok(code === "no error" || code === NOT_FOUND, code);
      assert.equal(await codeOf(within(bench.driver.waitTask(config.id), "wait")), NOT_FOUND);
    },
  },
  {
    id: "exec/streaming",
    title: "a command with streams gives its output, closes both streams, and its exit comes last",
    needs: "exec",
    async run(bench, o, within) {
      const { config } = await startOn(bench, o.tasks.endless);
      const { command = [], stdout: wanted = "" } = o.capabilities?.exec ?? {};
      const stop = new AbortController();
      const closed: string[] = [];
      let text = "";
      let code: number | undefined;
      const read = async (): Promise<void> => {
        const request = { command, tty: false };
        for await (const frame of bench.driver.execTaskStreaming(config.id, request, closedInput(), stop.signal)) {
          assert.equal(code, undefined, "a frame behind the exit");
          text += Buffer.from(frame.stdout?.data ?? []).toString();
          if (frame.stdout?.close === true) closed.push("stdout");
          if (frame.stderr?.close === true) closed.push("stderr");
          code = frame.exited?.exitCode;
        }
      };
      await within(read(), "exec").finally(() => stop.abort());
      assert.deepEqual([text, code, closed.sort()], [wanted, 0, ["stderr", "stdout"]]);
      await bench.driver.destroyTask(config.id, true);
    },
  },
];
