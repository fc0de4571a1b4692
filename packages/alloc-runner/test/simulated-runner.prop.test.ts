import fc from "fast-check";
import { expect, it } from "vitest";
import { isOutriderError } from "@outrider/foundation";
import { simulatedRunnerFactory, updatePriority } from "../src/index.ts";
import { anAlloc, testConfig } from "./support.ts";

const TERMINAL = new Set(["complete", "failed", "lost"]);
const step = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat({ max: 2_000 }) }),
  fc.record({ kind: fc.constantFrom("restart" as const, "signal" as const), task: fc.constantFrom("a", "b", "none") }),
  fc.record({
    kind: fc.constant("pause" as const),
    task: fc.constantFrom("a", "b", ""),
    to: fc.constantFrom("force_pause" as const, "force_run" as const, "schedule_resume" as const),
  }),
  fc.record({ kind: fc.constant("update" as const), wish: fc.constantFrom("run", "stop", "evict"), index: fc.nat(20) }),
  fc.record({ kind: fc.constantFrom("reconnect" as const, "shutdown" as const, "destroy" as const) }),
);

it("whatever is asked of a runner in whatever order, its story stays one that a server can follow", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.constantFrom("service", "batch"),
      fc.nat({ max: 3 }),
      async (steps, type, exitCode) => {
        const config = testConfig(anAlloc({ type, tasks: ["a", "b"] }));
        const runner = await simulatedRunnerFactory({ runForMs: () => 1_500, exitCode: () => exitCode })(config);
        let ended = 0;
        void runner.waitDone.then(() => ended++);
        void runner.run();
        const refused = (error: unknown): void => {
          if (!isOutriderError(error)) throw error;
        };
        let left = false;
        for (const s of steps) {
          if (s.kind === "wait") await config.clock.advance(s.ms);
          else if (s.kind === "restart")
            await runner.restartTask(s.task, { type: "Restart Signaled", facts: { reason: "asked" } }).catch(refused);
          else if (s.kind === "signal") await runner.signal(s.task, "SIGHUP").catch(refused);
          else if (s.kind === "pause") await runner.setTaskPauseState(s.task, s.to).catch(refused);
          else if (s.kind === "update")
            runner.update({ ...runner.alloc(), DesiredStatus: s.wish, AllocModifyIndex: s.index });
          else if (s.kind === "reconnect") await runner.reconnect(runner.alloc());
          else {
            left = true;
            runner[s.kind]();
          }
        }
        runner.update({ ...runner.alloc(), DesiredStatus: "stop", AllocModifyIndex: 1_000 });
        await config.clock.advance(60_000);
        await config.clock.flush();

        // It ends once, in a terminal state unless its process left it alone, and stays there.
        expect(ended).toBe(1);
        const statuses = config.updates.map((update) => update.ClientStatus);
        const end = statuses.findIndex((status) => TERMINAL.has(status));
        if (!left) expect(TERMINAL.has(runner.allocState().clientStatus)).toBe(true);
        if (end >= 0) expect(new Set(statuses.slice(end)).size).toBe(1);
        // Events are only ever added, and restarts only counted up.
        for (const name of ["a", "b"]) {
          let events = 0;
          let restarts = 0;
          for (const { TaskStates } of config.updates) {
            const state = TaskStates?.[name];
            expect(state?.Restarts ?? 0).toBeGreaterThanOrEqual(restarts);
            restarts = state?.Restarts ?? restarts;
            expect(Math.min(state?.Events?.length ?? events, 10)).toBeGreaterThanOrEqual(Math.min(events, 10));
            events = state?.Events?.length ?? events;
          }
        }
        // What was told last is no news.
        const last = config.updates.at(-1);
        if (last !== undefined) expect(updatePriority(last, last)).toBe("none");
        runner.destroy();
        await config.clock.advance(60_000);
        await runner.destroyDone;
        expect(runner.isDestroyed()).toBe(true);
        expect(config.clock.pending).toEqual([]);
      },
    ),
    { numRuns: 150 },
  );
});
