import type { AllocStateBatch } from "@outrider/alloc-runner";
import { ManualClock } from "@outrider/backoff/testing";
import { noopLogger } from "@outrider/foundation";
import { expect, it } from "vitest";
import { TaskRecord } from "../../src/task/task-record.ts";

function setup(o: { initial?: object } = {}) {
  const clock = new ManualClock();
  const disk = new Map<string, unknown>();
  const batches: AllocStateBatch[] = [];
  const errors: unknown[] = [];
  let failing = 0;
  let hold: Promise<void> | undefined;
  const seen: string[] = [];
  const record = new TaskRecord({
    clock,
    logger: { ...noopLogger, error: (...args: unknown[]) => void errors.push(args) },
    persist: {
      get: <T>(key: string) => disk.get(key) as T | undefined,
      list: () => [],
      async write(batch) {
        await hold;
        if (failing-- > 0) throw new Error("ENOSPC");
        batches.push(batch);
        for (const [key, value] of Object.entries(batch.put ?? {})) disk.set(key, structuredClone(value));
      },
    },
    keys: { taskState: "t", localState: "l" },
    ...(o.initial === undefined ? {} : { initial: o.initial as never }),
    onPhase: (to) => void seen.push(`>${to}`),
    onChange: () => void seen.push("change"),
    onDurable: () => void seen.push("durable"),
  });
  return {
    clock,
    disk,
    batches,
    errors,
    record,
    seen,
    fail: (n: number) => (failing = n),
    holdWith: (p: Promise<void> | undefined): void => {
      hold = p;
    },
  };
}

it("writes changes of one turn as one change set, and only what changed", async () => {
  const { record, batches, seen } = setup();
  record.setLocal({ runComplete: true });
  record.append({ type: "Received" });
  record.enter("running", { type: "Started" });
  expect(record.durable.State).toBe("pending");
  await record.flush();
  expect(batches).toHaveLength(1);
  expect(Object.keys(batches[0]?.put ?? {})).toEqual(["t", "l"]);
  record.append({ type: "Reconnected" });
  await record.flush();
  expect(Object.keys(batches[1]?.put ?? {})).toEqual(["t"]);
  expect(record.durable).toBe(record.state);
  expect(seen).toEqual(["change", "change", ">running", "durable", "change", "durable"]);
});

it("lets a note wait for the next change or flush, or a tenth of a second", async () => {
  const { record, batches, clock } = setup();
  record.noteLocal({ hooks: {} });
  record.noteLocal({ restart: undefined });
  await clock.advance(99);
  expect(batches).toHaveLength(0);
  await clock.advance(1);
  expect(batches).toHaveLength(1);
  record.noteLocal({ runComplete: true });
  record.append({ type: "Received" });
  await record.flush();
  expect(batches).toHaveLength(2);
  expect(Object.keys(batches[1]?.put ?? {})).toEqual(["t", "l"]);
  record.noteLocal({ runComplete: false });
  await record.flush();
  expect(batches).toHaveLength(3);
  expect(clock.pending).toHaveLength(0);
  record.noteLocal({ runComplete: true });
  await record.close();
  expect(clock.pending).toHaveLength(0);
  record.noteLocal({ runComplete: false });
  expect(clock.pending).toHaveLength(0);
});

it("never loses a change that falls into a write", async () => {
  const { record, disk, holdWith } = setup();
  let go: () => void = () => undefined;
  holdWith(new Promise((resolve) => (go = resolve)));
  record.append({ type: "Received" });
  const first = record.flush();
  await Promise.resolve();
  await Promise.resolve();
  record.enter("dead");
  const second = record.flush();
  holdWith(undefined);
  go();
  await first;
  await second;
  expect(disk.get("t")).toMatchObject({ State: "dead" });
});

it("asks for the reserve of the disk for ends only", async () => {
  const { record, batches } = setup();
  record.enter("running");
  await record.flush();
  record.enter("dead");
  await record.flush();
  expect(batches.map((b) => b.urgent)).toEqual([false, true]);
});

it("tries again while the disk refuses, telling it once an episode", async () => {
  const { record, clock, errors, fail } = setup();
  fail(4);
  record.append({ type: "Received" });
  let flushed = false;
  void record.flush().then(() => (flushed = true));
  await clock.advance(3_000);
  expect([flushed, errors.length]).toEqual([false, 1]);
  await clock.advance(2_000);
  expect([flushed, errors.length]).toEqual([true, 1]);
});

it("keeps the last ten events with strictly growing times, also when the clock stands or goes back", async () => {
  const { record, clock } = setup();
  for (let i = 0; i < 14; i++) {
    if (i === 7) clock.setWall(clock.now() - 60_000);
    record.append({ type: "Reconnected" });
  }
  const times = (record.state.Events ?? []).map((e) => e.Time);
  expect(times).toHaveLength(10);
  expect(times.every((t, i) => i === 0 || t > (times[i - 1] as number))).toBe(true);
});

it("sets the instants of a task's life", () => {
  const { record, clock } = setup();
  record.enter("running", { type: "Started" });
  const started = record.state.StartedAt;
  clock.setWall(clock.now() + 5_000);
  record.enter("running");
  expect(record.state.StartedAt).toBe(started);
  record.enter("dead", { type: "Not Restarting", facts: { reason: "no" } });
  const finished = record.state.FinishedAt;
  expect(finished).not.toBeNull();
  clock.setWall(clock.now() + 5_000);
  record.enter("dead");
  expect(record.state).toMatchObject({ FinishedAt: finished, Failed: true });
  record.enter("pending", { type: "Restarting", facts: { startDelayNs: 0, reason: "" } });
  // A later success never clears a failure.
  expect(record.state).toMatchObject({ FinishedAt: null, Restarts: 1, Failed: true });
  expect(record.state.LastRestart).not.toBeNull();
});

it("takes up what is on disk, and knows when there is nothing", async () => {
  const { record, disk } = setup();
  expect(record.load()).toBe(false);
  disk.set("t", { State: "running", Paused: "force_run" });
  disk.set("l", { runComplete: true });
  expect(record.load()).toBe(true);
  expect(record.state).toMatchObject({ State: "running", Paused: "force_run", Restarts: 0 });
  expect(record.local).toEqual({ hooks: {}, runComplete: true });
});

it("saves everything on demand, and nothing after its close", async () => {
  const { record, batches, clock, fail } = setup({ initial: { State: "pending", Events: [] } });
  await record.save();
  expect(Object.keys(batches[0]?.put ?? {})).toEqual(["t", "l"]);
  fail(99);
  record.append({ type: "Received" });
  const flushed = record.flush();
  await clock.flush();
  await record.close();
  await flushed;
  record.append({ type: "Received" });
  await record.flush();
  await clock.advance(10_000);
  expect(batches).toHaveLength(1);
});
