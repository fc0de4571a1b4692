import { describe, expect, it } from "vitest";
import { createAllocSync, type AllocSyncOptions } from "../src/index.ts";
import { harness } from "./harness.ts";

const failure = async (fn: () => unknown): Promise<Error> => {
  try {
    await fn();
  } catch (e) {
    return e as Error;
  }
  throw new Error("did not fail");
};
const options: AllocSyncOptions<unknown, unknown> = {
  send: () => Promise.resolve(),
  id: String,
  priority: () => "typical",
  toAck: (u) => u,
};

describe("bounds of the options", () => {
  it("the smallest and the largest sensible values are taken", async () => {
    for (const tick of [1, Number.MAX_SAFE_INTEGER]) expect(() => createAllocSync({ ...options, tick })).not.toThrow();
    const { clock, sync, sent, stop } = harness({ tick: 1, typicalEvery: 1 });
    sync.start(stop.signal);
    sync.push({ id: "a", status: "running" });
    await clock.advance(1);
    expect(sent.map((s) => s.at)).toEqual([1]);
    await expect(sync.flush({ deadlineMs: 0 })).resolves.toBeUndefined();
    await expect(sync.flush({ deadlineMs: Number.MAX_SAFE_INTEGER })).resolves.toBeUndefined();
  });

  it("beyond them the message says what is expected and what was given", async () => {
    const refused = (more: object) => failure(() => createAllocSync({ ...options, ...more } as never));
    expect((await refused({ tick: 2 ** 53 })).message).toContain(
      'tick must be a number of ms >= 1, got "9007199254740992"',
    );
    expect((await refused({ typicalEvery: 0 })).message).toContain('typicalEvery must be an integer >= 1, got "0"');
    expect((await refused({ send: "x" })).message).toContain('send must be a function, got "x"');
    expect((await refused({ random: 1 })).message).toContain('random must be a function, got "1"');
    const { sync, stop } = harness();
    const late = await failure(() => sync.flush({ deadlineMs: 2 ** 53 }));
    expect(late.message).toContain('deadlineMs must be a number of ms >= 0, got "9007199254740992"');
    sync.start(stop.signal);
    expect((await failure(() => sync.start(stop.signal))).message).toContain(
      'start must be called once, got "a second call"',
    );
  });

  it("a retry delay of 0 is one, one beyond all timers is not", async () => {
    const { clock, sync, sent, stop, answers } = harness({ retryDelay: () => 0 });
    answers.push(new Error("down"));
    sync.start(stop.signal);
    sync.push({ id: "a", status: "failed" });
    await clock.advance(201);
    expect(sent.map((s) => s.at)).toEqual([200, 201]);
    const far = harness({ retryDelay: () => 2 ** 53 });
    far.answers.push(new Error("down"));
    far.sync.start(far.stop.signal);
    far.sync.push({ id: "a", status: "failed" });
    await far.clock.advance(5200);
    expect(far.sent.map((s) => s.at)).toEqual([200, 5200]);
    const [, , told] = far.log.lines.find(([, message]) => message?.includes("retry delay"))!;
    expect(told.err.message).toContain('retryDelay() must be a number of ms >= 0, got "9007199254740992"');
  });
});

describe("what is told", () => {
  it("counters count up", async () => {
    const { clock, sync, stop } = harness();
    sync.start(stop.signal);
    for (const detail of ["1", "2", "3"]) sync.push({ id: "a", status: "failed", detail });
    sync.push({ id: "b", status: "failed" });
    expect(sync.stats).toMatchObject({ pushed: 4, replaced: 2, pending: 2 });
    await clock.advance(200);
    sync.push({ id: "a", status: "running" });
    await clock.advance(200);
    expect(sync.stats).toMatchObject({ pushed: 5, sends: 2, delivered: 3, failures: 0 });
  });

  it("log lines carry the cause and how much is concerned", async () => {
    const down = new Error("down");
    const disk = new Error("disk");
    const odd = new Error("odd");
    const gate = new Error("gate");
    const { clock, sync, log, stop, answers } = harness({
      onAck: () => Promise.reject(disk),
      toAck: ({ id, ...ack }) => {
        if (id === "odd") throw odd;
        return ack;
      },
    });
    answers.push(down);
    sync.start(stop.signal);
    for (const id of ["a", "b", "odd"]) sync.push({ id, status: "failed" });
    await clock.advance(6000);
    const shut = harness({ ready: Promise.reject(gate) });
    await shut.clock.flush();
    expect([...log.lines, ...shut.log.lines]).toEqual([
      ["error", "could not send updates", { err: down, updates: 3 }],
      ["error", expect.stringContaining("could not make an acknowledgement"), { err: odd, id: "odd" }],
      ["error", "could not keep the acknowledgements of a batch", { err: disk, acks: 2 }],
      ["error", "the ready gate failed, updates stay in the buffer", { err: gate }],
    ]);
  });

  it("an update that cannot be classified is sent as a typical one", async () => {
    const { clock, sync, sent, stop } = harness({
      priority: () => {
        throw new Error("no class");
      },
    });
    sync.start(stop.signal);
    sync.push({ id: "a", status: "failed" });
    await clock.advance(5000);
    expect(sent.map((s) => s.at)).toEqual([1000]);
  });
});

describe("ends of a send", () => {
  it("the send learns why: the bound of the flush, the disposal, or the reason of a stop during a flush", async () => {
    const reasons: unknown[] = [];
    const hanging = () =>
      harness({
        send: (_batch, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(signal.reason as Error);
            }),
          ),
      });
    const late = hanging();
    late.sync.push({ id: "a", status: "failed" });
    const flushed = late.sync.flush({ deadlineMs: 50 });
    await late.clock.advance(50);
    await flushed;
    const disposed = hanging();
    disposed.sync.start(disposed.stop.signal);
    disposed.sync.push({ id: "a", status: "failed" });
    await disposed.clock.advance(200);
    await disposed.sync[Symbol.asyncDispose]();
    const stopped = hanging();
    stopped.sync.start(stopped.stop.signal);
    stopped.sync.push({ id: "a", status: "failed" });
    const halfway = stopped.sync.flush({ deadlineMs: 10_000 });
    await stopped.clock.flush();
    stopped.stop.abort("enough");
    await halfway;
    expect(reasons).toEqual([
      expect.objectContaining({ name: "TimeoutError", message: "the flush ran out of time" }),
      expect.objectContaining({ name: "AbortError", message: "the sync was disposed" }),
      "enough",
    ]);
    expect(stopped.clock.pending).toEqual([]);
  });

  it("an id forgotten while nothing was sent is acknowledged again by its next send", async () => {
    const { clock, sync, acked, stop } = harness();
    sync.start(stop.signal);
    sync.forget("a");
    sync.push({ id: "a", status: "failed" });
    await clock.advance(200);
    expect(acked).toEqual([new Map([["a", { status: "failed" }]])]);
  });

  it("who listens to no acknowledgements causes no error", async () => {
    const { clock, sync, log, stop } = harness({ onAck: undefined });
    sync.start(stop.signal);
    sync.push({ id: "a", status: "failed" });
    await clock.advance(200);
    expect(sync.stats.delivered).toBe(1);
    expect(log.lines).toEqual([]);
  });
});
