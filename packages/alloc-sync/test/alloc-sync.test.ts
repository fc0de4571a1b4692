import { isOutriderError } from "@outrider/foundation";
import { describe, expect, it } from "vitest";
import { createAllocSync } from "../src/index.ts";
import { harness, type Update } from "./harness.ts";

const running = (id: string, detail = "0"): Update => ({ id, status: "running", detail });

/** A harness whose updates are acknowledged already, so that a changed status is urgent and a changed detail typical. */
function acknowledged(more: Parameters<typeof harness>[0] = {}) {
  const h = harness(more);
  for (const id of ["a", "b", "c"]) h.sync.acknowledge(id, { status: "running", detail: "0" });
  h.sync.start(h.stop.signal);
  return h;
}

describe("ticks and priorities", () => {
  it("a typical update waits for a tick divisible by five: one second from idle at the latest", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push(running("a", "1"));
    await clock.advance(999);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual([{ at: 1000, batch: [running("a", "1")] }]);
  });

  it("how long it waits from idle depends on the phase of the ticks, between 0 and 1 s", async () => {
    const { clock, sync, sent } = acknowledged();
    await clock.advance(1950);
    sync.push(running("a", "1"));
    await clock.advance(50);
    expect(sent.map((s) => s.at)).toEqual([2000]);
  });

  it("typical updates go out at most once a second after a success", async () => {
    const { clock, sync, sent } = acknowledged();
    for (let i = 1; i <= 100; i++) {
      sync.push(running("a", String(i)));
      await clock.advance(100);
    }
    expect(sent.map((s) => s.at)).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000]);
  });

  it("an urgent update goes at the next tick and takes every typical one along in one call", async () => {
    const { clock, sync, ids, sent } = acknowledged();
    sync.push(running("a", "1"));
    sync.push({ id: "b", status: "complete" });
    sync.push(running("c", "1"));
    await clock.advance(200);
    expect(ids()).toEqual(["a,b,c"]);
    expect(sent[0]!.at).toBe(200);
  });

  it("an urgent update waits at most one tick and the call under way", async () => {
    const { clock, sync, sent } = acknowledged({ rpcMs: 300 });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(201);
    sync.push({ id: "b", status: "complete" });
    await clock.advance(1000);
    expect(sent.map((s) => s.at)).toEqual([200, 700]);
  });

  it("a failed state that was never acknowledged is urgent (hashicorp/nomad#17541)", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push({ id: "new", status: "failed" });
    await clock.advance(200);
    expect(sent).toHaveLength(1);
  });

  it("an update of an id that nobody owns is sent like a typical one and not acknowledged", async () => {
    const { clock, sync, sent, acked, gone } = acknowledged();
    gone.add("invalid");
    sync.push({ id: "invalid", status: "failed" });
    await clock.advance(1000);
    expect(sent.map((s) => s.at)).toEqual([1000]);
    expect(acked).toEqual([]);
  });

  it("the tick counter keeps running over empty ticks and starts anew after a success", async () => {
    const { clock, sync, sent } = acknowledged();
    await clock.advance(600);
    expect(sync.stats.ticks).toBe(3);
    sync.push({ id: "a", status: "complete" });
    await clock.advance(200);
    expect(sync.stats.ticks).toBe(0);
    sync.push(running("b", "1"));
    await clock.advance(1000);
    expect(sent.map((s) => s.at)).toEqual([800, 1800]);
  });

  it("unchanged updates stay in the buffer until a batch is due, then they are dropped, not sent", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push(running("a", "0"));
    await clock.advance(800);
    expect(sync.stats).toMatchObject({ pending: 1, unchanged: 0 });
    await clock.advance(200);
    expect(sync.stats).toMatchObject({ pending: 0, unchanged: 1, sends: 0, ticks: 5 });
    expect(sent).toEqual([]);
  });

  it("an urgent batch drops the unchanged ones too", async () => {
    const { clock, sync, ids } = acknowledged();
    sync.push(running("a", "0"));
    sync.push({ id: "b", status: "failed" });
    await clock.advance(200);
    expect(ids()).toEqual(["b"]);
    expect(sync.stats).toMatchObject({ pending: 0, unchanged: 1 });
  });

  it("there and back within one window sends nothing when the first state is acknowledged", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push(running("a", "1"));
    sync.push(running("a", "0"));
    await clock.advance(5000);
    expect(sent).toEqual([]);
    expect(sync.stats.replaced).toBe(1);
  });

  it("only the newest update of an id is sent", async () => {
    const { clock, sync, sent } = acknowledged();
    for (let i = 1; i <= 50; i++) sync.push(running("a", String(i)));
    await clock.advance(1000);
    expect(sent[0]!.batch).toEqual([running("a", "50")]);
  });

  it("tick length and rhythm can be chosen", async () => {
    const { clock, sync, sent } = acknowledged({ tick: 10, typicalEvery: 2 });
    sync.push(running("a", "1"));
    await clock.advance(100);
    expect(sent.map((s) => s.at)).toEqual([20]);
  });
});

describe("a slow or failing server (hashicorp/nomad#9435, #9451, #17354)", () => {
  it("the interval starts after the answer, so a slow server is called less often, with bigger batches", async () => {
    const { clock, sync, sent } = acknowledged({ rpcMs: 3000 });
    for (let i = 0; i < 100; i++) {
      sync.push({ id: "a", status: `s${i}` });
      sync.push({ id: `x${i}`, status: "failed" });
      await clock.advance(100);
    }
    expect(sent.map((s) => s.at)).toEqual([200, 3400, 6600, 9800]);
    expect(sent.map((s) => s.batch.length)).toEqual([3, 33, 33, 33]);
  });

  it("updates that arrive during a call are kept and compared with the new acknowledgement", async () => {
    const { clock, sync, sent } = acknowledged({ rpcMs: 500 });
    sync.push(running("a", "1"));
    sync.push(running("b", "1"));
    await clock.advance(1100);
    expect(sync.stats.sending).toBe(true);
    sync.push(running("a", "1"));
    sync.push(running("b", "2"));
    await clock.advance(3000);
    expect(sent.map((s) => s.batch)).toEqual([[running("a", "1"), running("b", "1")], [running("b", "2")]]);
    expect(sync.stats.sending).toBe(false);
  });

  it("a failed batch is put back, but never over a newer update", async () => {
    const { clock, sync, sent, answers } = acknowledged({ rpcMs: 100 });
    answers.push(new Error("no server"));
    sync.push({ id: "a", status: "failed" });
    sync.push({ id: "b", status: "failed" });
    await clock.advance(250);
    sync.push({ id: "a", status: "complete" });
    await clock.advance(20_000);
    expect(sent).toHaveLength(2);
    expect(sent[1]!.batch.toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual([
      { id: "a", status: "complete" },
      { id: "b", status: "failed" },
    ]);
    expect(sync.stats).toMatchObject({ failures: 1, returned: 1, delivered: 2 });
  });

  it("after a failed typical batch at a fifth tick the next try is the retry delay and four ticks later", async () => {
    const { clock, sync, sent, answers } = acknowledged();
    answers.push(new Error("down"));
    sync.push(running("a", "1"));
    await clock.advance(20_000);
    expect(sent.map((s) => s.at)).toEqual([1000, 1000 + 5000 + 4 * 200]);
  });

  it("an urgent one is tried again at the first tick after the retry delay", async () => {
    const { clock, sync, sent, answers } = acknowledged();
    answers.push(new Error("down"));
    sync.push({ id: "a", status: "failed" });
    await clock.advance(20_000);
    expect(sent.map((s) => s.at)).toEqual([200, 5200]);
  });

  it("the retry delay is 5 s plus up to 5 s at random", async () => {
    const { clock, sync, sent, answers } = acknowledged({ random: () => 0.5 });
    answers.push(new Error("down"));
    sync.push({ id: "a", status: "failed" });
    await clock.advance(20_000);
    expect(sent.map((s) => s.at)).toEqual([200, 200 + 7500]);
  });

  it("after an empty tick the period is one tick again, also after a long retry delay", async () => {
    const { clock, sync, sent, answers } = acknowledged({ retryDelay: () => 60_000 });
    answers.push(new Error("down"));
    sync.push(running("a", "1"));
    await clock.advance(1000 + 60_000);
    expect(sync.stats.ticks).toBe(6);
    await clock.advance(800);
    expect(sent.map((s) => s.at)).toEqual([1000, 61_800]);
  });

  it("a retry delay that makes no sense is replaced by the default and told", async () => {
    for (const retryDelay of [() => Number.NaN, () => -1, () => Infinity]) {
      const { clock, sync, sent, answers, log } = acknowledged({ retryDelay });
      answers.push(new Error("down"));
      sync.push({ id: "a", status: "failed" });
      await clock.advance(5200);
      expect(sent.map((s) => s.at)).toEqual([200, 5200]);
      expect(log.lines.map(([level, message]) => `${level}: ${message}`)).toEqual([
        "error: could not send updates",
        "error: no usable retry delay, taking the default",
      ]);
    }
  });

  it("a send that throws at once counts as failed", async () => {
    const { clock, sync } = acknowledged({
      send: () => {
        throw new Error("sync");
      },
    });
    sync.push({ id: "a", status: "failed" });
    await clock.advance(200);
    expect(sync.stats).toMatchObject({ failures: 1, pending: 1 });
  });
});

describe("acknowledgements", () => {
  it("come once per batch, with all of it", async () => {
    const { clock, sync, acked } = acknowledged();
    for (const id of ["a", "b", "c"]) sync.push({ id, status: "complete", detail: "x" });
    await clock.advance(200);
    expect(acked).toEqual([new Map(["a", "b", "c"].map((id) => [id, { status: "complete", detail: "x" }]))]);
  });

  it("are of the sent update, not of what came meanwhile", async () => {
    const { clock, sync, acked } = acknowledged({ rpcMs: 50 });
    sync.push(running("a", "1"));
    await clock.advance(1010);
    sync.push(running("a", "2"));
    await clock.advance(50);
    expect(acked[0]!.get("a")).toEqual({ status: "running", detail: "1" });
  });

  it("a failure to persist them is logged, not fatal, and nothing is sent twice", async () => {
    const { clock, sync, sent, log } = acknowledged({ onAck: () => Promise.reject(new Error("disk full")) });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(200);
    sync.push({ id: "a", status: "complete" });
    await clock.advance(2000);
    expect(sent).toHaveLength(1);
    expect(log.lines.map(([level, message]) => [level, message])).toEqual([
      ["error", "could not keep the acknowledgements of a batch"],
    ]);
  });

  it("one that cannot be made is logged, and the others are kept", async () => {
    const { clock, sync, acked, log } = acknowledged({
      toAck: (u) => {
        if (u.id === "a") throw new Error("odd");
        return { status: u.status };
      },
    });
    sync.push({ id: "a", status: "complete" });
    sync.push({ id: "b", status: "complete" });
    await clock.advance(200);
    expect(acked.map((m) => [...m.keys()])).toEqual([["b"]]);
    expect(log.lines[0]![1]).toContain("could not make an acknowledgement");
  });

  it("a restored acknowledgement keeps unchanged updates off the wire after a restart (hashicorp/nomad#16381)", async () => {
    const { clock, sync, sent } = harness();
    sync.acknowledge("a", { status: "running", detail: "9" });
    const stop = new AbortController();
    sync.start(stop.signal);
    sync.push(running("a", "9"));
    await clock.advance(3000);
    expect(sent).toEqual([]);
  });

  it("none is kept of an id forgotten while it was being sent", async () => {
    const { clock, sync, sent, acked } = acknowledged({ rpcMs: 100 });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(250);
    sync.forget("a");
    await clock.advance(100);
    expect(acked).toEqual([]);
    // A new life under the same id is compared with nothing.
    sync.push({ id: "a", status: "complete" });
    await clock.advance(2000);
    expect(sent).toHaveLength(2);
    expect(acked).toHaveLength(1);
  });

  it("forgetting an id keeps its pending update", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push({ id: "a", status: "complete" });
    sync.forget("a");
    await clock.advance(1000);
    expect(sent[0]!.batch).toEqual([{ id: "a", status: "complete" }]);
  });

  it("an update that cannot be classified is sent rather than lost", async () => {
    const { clock, sync, sent, log } = acknowledged({
      priority: () => {
        throw new Error("odd");
      },
    });
    sync.push(running("a"));
    await clock.advance(1000);
    expect(sent).toHaveLength(1);
    expect(log.lines[0]).toMatchObject(["error", "could not classify an update, sending it", { id: "a" }]);
  });

  it("works without anyone who listens to them", async () => {
    const { clock, sync, sent } = acknowledged({ onAck: undefined });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(200);
    expect(sent).toHaveLength(1);
  });
});

describe("the ready gate (hashicorp/nomad#16381, #17074)", () => {
  it("nothing is sent before it opens, nothing is lost, and the first tick after it sends", async () => {
    let open!: () => void;
    const { clock, sync, sent } = acknowledged({ ready: new Promise<void>((resolve) => (open = resolve)) });
    sync.push({ id: "a", status: "complete" });
    sync.push(running("b", "1"));
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    expect(sync.stats).toMatchObject({ ready: false, pending: 2, ticks: 300 });
    await sync.flush();
    expect(sent).toEqual([]);
    open();
    await clock.advance(200);
    expect(sent.map((s) => s.at)).toEqual([60_200]);
  });

  it("a gate that fails stays shut and is told once", async () => {
    const { clock, sync, sent, log } = acknowledged({ ready: Promise.reject(new Error("never")) });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(10_000);
    expect(sent).toEqual([]);
    expect(log.lines).toHaveLength(1);
  });
});

describe("flush and stop", () => {
  it("a flush sends typical updates at once and does not disturb the rhythm", async () => {
    const { clock, sync, sent } = acknowledged();
    sync.push(running("a", "1"));
    await clock.advance(100);
    await sync.flush();
    expect(sent.map((s) => s.at)).toEqual([100]);
    sync.push(running("b", "1"));
    await clock.advance(2000);
    expect(sent.map((s) => s.at)).toEqual([100, 1100]);
  });

  it("a flush with nothing to tell calls nobody", async () => {
    const { sync, sent, clock } = acknowledged();
    sync.push(running("a", "0"));
    await sync.flush();
    expect(sent).toEqual([]);
    expect(clock.pending).toHaveLength(1);
  });

  it("a flush first waits for the call under way and takes what that one brought back", async () => {
    const { clock, sync, sent, answers } = acknowledged({ rpcMs: 300 });
    answers.push(new Error("down"));
    sync.push({ id: "a", status: "complete" });
    await clock.advance(250);
    sync.push(running("b", "1"));
    const flushed = Promise.all([sync.flush(), sync.flush()]);
    await clock.advance(600);
    await flushed;
    expect(sent.map((s) => [s.at, s.batch.length])).toEqual([
      [200, 1],
      [500, 2],
    ]);
    expect(sync.stats.pending).toBe(0);
  });

  it("a flush never takes longer than its bound, even when the send ignores its signal", async () => {
    let signal: AbortSignal | undefined;
    const { clock, sync } = acknowledged({
      send: (_batch, context) => {
        signal = context.signal;
        return new Promise(() => undefined);
      },
    });
    sync.push({ id: "a", status: "complete" });
    let done = false;
    const flushed = sync.flush({ deadlineMs: 300 }).then(() => (done = true));
    await clock.advance(299);
    expect(done).toBe(false);
    await clock.advance(1);
    await flushed;
    expect(signal?.reason).toMatchObject({ name: "TimeoutError" });
    expect(clock.pending).toEqual([]);
  });

  it("the bound holds too while an earlier call hangs; nothing new is sent after it", async () => {
    const { clock, sync, sent } = acknowledged({ rpcMs: 10_000 });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(250);
    sync.push({ id: "b", status: "complete" });
    const flushed = sync.flush();
    await clock.advance(1000);
    await flushed;
    await clock.advance(9000);
    expect(sent.map((s) => s.batch.length)).toEqual([1]);
    await clock.advance(200);
    expect(sent.map((s) => s.batch.length)).toEqual([1, 1]);
  });

  it("a failed flush resolves, keeps the updates and leaves no timer of its own", async () => {
    const { clock, sync, sent, answers, stop } = acknowledged();
    answers.push(new Error("down"));
    sync.push(running("a", "1"));
    await sync.flush();
    expect(sync.stats).toMatchObject({ pending: 1, failures: 1 });
    stop.abort();
    expect(clock.pending).toEqual([]);
    expect(sent).toHaveLength(1);
  });

  it("works before start and after stop, and a start meanwhile does not make a second loop", async () => {
    const h = harness({ rpcMs: 300 });
    h.sync.push({ id: "a", status: "running" });
    const flushed = h.sync.flush();
    h.sync.start(h.stop.signal);
    h.sync.push({ id: "b", status: "failed" });
    await h.clock.advance(299);
    expect(h.ids()).toEqual(["a"]);
    await h.clock.advance(1);
    await flushed;
    await h.clock.advance(500);
    expect(h.sent.map((s) => s.at)).toEqual([0, 500]);
    h.stop.abort();
    h.sync.push({ id: "a", status: "complete" });
    const last = h.sync.flush();
    await h.clock.advance(300);
    await last;
    expect(h.ids()).toEqual(["a", "b", "a"]);
    expect(h.clock.pending).toEqual([]);
  });

  it("a stop ends the ticks and aborts the call under way with its reason; the batch is kept", async () => {
    let signal: AbortSignal | undefined;
    const { clock, sync, stop, log } = acknowledged({
      send: (_batch, context) => {
        signal = context.signal;
        return new Promise((_resolve, reject) =>
          context.signal.addEventListener("abort", () => reject(context.signal.reason)),
        );
      },
    });
    sync.push({ id: "a", status: "complete" });
    await clock.advance(200);
    const reason = new Error("bye");
    stop.abort(reason);
    await clock.flush();
    expect(signal?.reason).toBe(reason);
    expect(sync.stats).toMatchObject({ pending: 1, sending: false });
    expect(clock.pending).toEqual([]);
    expect(log.lines.map(([level]) => level)).toEqual(["debug"]);
  });

  it("a signal that is aborted already starts nothing; disposal ends everything", async () => {
    const none = harness();
    none.sync.start(AbortSignal.abort());
    expect(none.clock.pending).toEqual([]);
    const h = acknowledged({ rpcMs: 100 });
    h.sync.push({ id: "a", status: "complete" });
    await h.clock.advance(200);
    const disposed = h.sync[Symbol.asyncDispose]();
    await h.clock.advance(100);
    await disposed;
    expect(h.clock.pending).toEqual([]);
  });
});

describe("bad input", () => {
  const good = { send: async () => undefined, id: () => "a", priority: () => "none" as const, toAck: () => 1 };
  it.each([
    ["send", { send: 1 }],
    ["id", { id: undefined }],
    ["priority", { priority: {} }],
    ["toAck", { toAck: "x" }],
    ["onAck", { onAck: 5 }],
    ["retryDelay", { retryDelay: 5000 }],
    ["random", { random: 0.5 }],
    ["tick", { tick: 0 }],
    ["tick", { tick: Number.NaN }],
    ["typicalEvery", { typicalEvery: 1.5 }],
    ["typicalEvery", { typicalEvery: 0 }],
  ])("a wrong %s is refused by name", (field, wrong) => {
    try {
      createAllocSync({ ...good, ...wrong } as never);
      expect.unreachable();
    } catch (e) {
      expect(isOutriderError(e, "ERR_OUTRIDER_SYNC_OPTION")).toBe(true);
      expect(e).toMatchObject({ details: { field } });
    }
  });

  it("an update without identity, a second start and a senseless deadline are refused", async () => {
    const { sync, stop } = acknowledged();
    expect(() => sync.push({ id: "", status: "x" })).toThrow("id must be a string that is not empty");
    expect(() => sync.push({ id: 5, status: "x" } as never)).toThrow('got "5"');
    expect(() => sync.start(stop.signal)).toThrow("called once");
    await expect(sync.flush({ deadlineMs: -1 })).rejects.toThrow("deadlineMs");
    expect(sync.stats.pending).toBe(0);
  });

  it("runs on the system's clock by default", async () => {
    const seen: string[][] = [];
    const sync = createAllocSync<string, string>({
      ...good,
      id: (u) => u,
      priority: () => "urgent",
      toAck: (u) => u,
      send: async (b) => void seen.push(b),
    });
    sync.push("x");
    await sync.flush();
    expect(seen).toEqual([["x"]]);
    await sync[Symbol.asyncDispose]();
  });
});
