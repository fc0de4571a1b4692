import { describe, expect, it } from "vitest";
import {
  createHookTelemetry,
  createMemorySink,
  HOOK_KINDS,
  hookMetricNames,
  type HookKind,
  type HookTelemetryOptions,
  type Labels,
  type MetricsSink,
} from "../src/index.ts";

type Call = [method: string, name: string, value: number, labels: Labels];
function recorder(): MetricsSink & { calls: Call[] } {
  const calls: Call[] = [];
  return {
    calls,
    incrCounter: (name, value, labels) => void calls.push(["count", name, value, labels]),
    addSample: (name, ms, labels) => void calls.push(["sample", name, ms, labels]),
  };
}
const base = {
  node_id: "n1",
  datacenter: "dc1",
  node_class: "none",
  node_pool: "default",
  namespace: "default",
  host: "h1",
};
function make(more: Partial<HookTelemetryOptions> = {}) {
  const sink = recorder();
  let ms = 1000;
  const telemetry = createHookTelemetry({ sink, labels: () => base, now: () => ms, ...more });
  return { sink, telemetry, pass: (by: number) => (ms += by), at: () => ms };
}

describe("the six datapoints", () => {
  it("a prerun hook that succeeds gives its time first, then one success, with Nomad's names and labels in order", () => {
    const { sink, telemetry, pass } = make();
    const start = telemetry.start();
    pass(12.5);
    telemetry.emit(start, "network", "prerun");
    expect(sink.calls.map(([m, n, v]) => [m, n, v])).toEqual([
      ["sample", "nomad.client.alloc_hook.prerun.elapsed", 12.5],
      ["count", "nomad.client.alloc_hook.prerun.success", 1],
    ]);
    expect(Object.entries(sink.calls[0]![3])).toEqual([
      ["node_id", "n1"],
      ["datacenter", "dc1"],
      ["node_class", "none"],
      ["node_pool", "default"],
      ["namespace", "default"],
      ["hook_name", "network"],
      ["host", "h1"],
    ]);
  });

  it("a prestart hook that fails gives its time and one failure", () => {
    const { sink, telemetry, pass } = make();
    pass(3);
    telemetry.emit(1000, "artifacts", "prestart", new Error("404"));
    expect(sink.calls.map(([m, n, v]) => [m, n, v])).toEqual([
      ["sample", "nomad.client.task_hook.prestart.elapsed", 3],
      ["count", "nomad.client.task_hook.prestart.failed", 1],
    ]);
  });

  it("a null error is a success, as Go's nil is", () => {
    const { sink, telemetry } = make();
    telemetry.emit(1000, "x", "prerun", null);
    expect(sink.calls[1]![1]).toBe("nomad.client.alloc_hook.prerun.success");
  });

  it("by default every other kind gives nothing, and the clock is not even read", () => {
    let reads = 0;
    const { sink, telemetry } = make({ now: () => ++reads });
    for (const kind of Object.keys(HOOK_KINDS) as HookKind[]) {
      if (kind === "prerun" || kind === "prestart") continue;
      telemetry.emit(0, "h", kind);
      expect(telemetry.time("h", kind, () => 7)).toBe(7);
    }
    expect(sink.calls).toEqual([]);
    expect(reads).toBe(0);
  });

  it("one option measures all kinds, each under a name of its own", () => {
    const { sink, telemetry } = make({ allKinds: true });
    for (const kind of Object.keys(HOOK_KINDS) as HookKind[]) telemetry.emit(1000, "h", kind);
    const names = sink.calls.filter(([m]) => m === "sample").map(([, name]) => name);
    expect(new Set(names).size).toBe(14);
    expect(names).toContain("nomad.client.alloc_hook.update.elapsed");
    expect(names).toContain("nomad.client.task_hook.update.elapsed");
    expect(names).toContain("nomad.client.task_hook.stop.elapsed");
  });

  it("names follow the prefix", () => {
    const { sink, telemetry } = make({ prefix: "myapp.boot" });
    telemetry.emit(1000, "h", "prerun");
    expect(sink.calls[0]![1]).toBe("myapp.boot.alloc_hook.prerun.elapsed");
    expect(hookMetricNames("postrun", "a").failed).toBe("a.alloc_hook.postrun.failed");
  });
});

describe("switched off", () => {
  it("emits nothing and touches neither clock nor labels nor sink", async () => {
    const never = () => {
      throw new Error("touched");
    };
    const telemetry = createHookTelemetry({
      sink: { incrCounter: never, addSample: never },
      labels: never,
      now: never,
      disabled: true,
      allKinds: true,
    });
    expect(telemetry.enabled).toBe(false);
    expect(telemetry.start()).toBe(0);
    telemetry.emit(0, "h", "prerun");
    expect(telemetry.time("h", "prerun", () => 1)).toBe(1);
    expect(await telemetry.time("h", "prestart", async () => 2)).toBe(2);
  });
});

describe("labels", () => {
  it("are asked for at each emission, so labels that become known later are used", () => {
    const labels: Record<string, string> = { namespace: "a" };
    const { sink, telemetry } = make({ labels: () => labels });
    telemetry.emit(1000, "h", "prerun");
    labels.node_id = "n2";
    telemetry.emit(1000, "h", "prerun");
    delete labels.namespace;
    telemetry.emit(1000, "h", "prerun");
    expect(sink.calls.filter(([m]) => m === "count").map((c) => ({ ...c[3] }))).toEqual([
      { namespace: "a", hook_name: "h" },
      { namespace: "a", node_id: "n2", hook_name: "h" },
      { node_id: "n2", hook_name: "h" },
    ]);
  });

  it("the caller's object is never changed and never passed on", () => {
    const mine = Object.freeze({ node_id: "n" });
    const { sink, telemetry } = make({ labels: () => mine });
    telemetry.emit(1000, "h", "prerun");
    expect(Object.keys(mine)).toEqual(["node_id"]);
    expect(sink.calls[0]![3]).not.toBe(mine);
    expect(Object.isFrozen(sink.calls[0]![3])).toBe(true);
  });

  it("the same series has the same label object, another hook another one", () => {
    const { sink, telemetry } = make({ labels: () => ({ ...base }) });
    telemetry.emit(1000, "a", "prerun");
    telemetry.emit(1000, "b", "prerun");
    telemetry.emit(1000, "a", "prestart");
    const [a, , b, , again] = sink.calls.map((c) => c[3]);
    expect(again).toBe(a);
    expect(b).not.toBe(a);
  });

  it("generated hook names do not fill the memory for ever", () => {
    const { sink, telemetry } = make();
    for (let i = 0; i < 3000; i++) telemetry.emit(1000, `h${i}`, "prerun");
    expect(sink.calls.at(-1)![3].hook_name).toBe("h2999");
  });
});

describe("time", () => {
  it("measures a synchronous hook and passes its result on", () => {
    const { sink, telemetry, pass } = make();
    expect(telemetry.time("h", "prerun", () => (pass(5), "done"))).toBe("done");
    expect(sink.calls.map((c) => c[2])).toEqual([5, 1]);
  });

  it("measures until an asynchronous hook settles, and passes failures on untouched", async () => {
    const { sink, telemetry, pass } = make();
    await telemetry.time("h", "prerun", async () => {
      await Promise.resolve();
      pass(8);
    });
    const reason = new Error("no");
    await expect(telemetry.time("h", "prerun", () => Promise.reject(reason))).rejects.toBe(reason);
    await expect(telemetry.time("h", "prerun", () => Promise.reject(undefined as never))).rejects.toBeUndefined();
    expect(() =>
      telemetry.time("h", "prerun", () => {
        throw reason;
      }),
    ).toThrow(reason);
    expect(sink.calls.map((c) => `${c[1].split(".").at(-1)} ${c[2]}`)).toEqual(
      "elapsed 8,success 1,elapsed 0,failed 1,elapsed 0,failed 1,elapsed 0,failed 1".split(","),
    );
  });
});

describe("nothing breaks a hook", () => {
  it("a clock set back or a start that is no number gives 0, never a negative or NaN sample", () => {
    const { sink, telemetry, at } = make();
    telemetry.emit(at() + 500, "h", "prerun");
    telemetry.emit(Number.NaN, "h", "prerun");
    expect(sink.calls.filter((c) => c[0] === "sample").map((c) => c[2])).toEqual([0, 0]);
  });

  it("a throwing sink or label function is reported, not thrown; a throwing reporter is silenced", () => {
    const seen: unknown[] = [];
    const bad = () => {
      throw new Error("sink down");
    };
    make({ sink: { incrCounter: bad, addSample: bad }, onError: (e) => seen.push(e) }).telemetry.emit(0, "h", "prerun");
    make({ labels: bad, onError: (e) => seen.push(e) }).telemetry.emit(0, "h", "prerun");
    make({ labels: bad, onError: bad }).telemetry.emit(0, "h", "prerun");
    make({ labels: bad }).telemetry.emit(0, "h", "prerun");
    expect(seen).toHaveLength(2);
  });

  it("works with its own clock", () => {
    const sink = createMemorySink();
    const telemetry = createHookTelemetry({ sink, labels: () => ({}) });
    telemetry.time("h", "prerun", () => 1);
    expect(sink.value("nomad.client.alloc_hook.prerun.elapsed")).toBeGreaterThanOrEqual(0);
  });
});

describe("bad input", () => {
  const good = { sink: recorder(), labels: () => ({}) };
  it.each([
    ["sink", { ...good, sink: undefined }],
    ["sink", { ...good, sink: { incrCounter: () => 1 } }],
    ["labels", { ...good, labels: {} }],
    ["now", { ...good, now: 5 }],
    ["prefix", { ...good, prefix: "a..b" }],
    ["prefix", { ...good, prefix: "" }],
  ])("a wrong %s is named", (field, options) => {
    try {
      createHookTelemetry(options as never);
      expect.unreachable();
    } catch (e) {
      expect(e).toMatchObject({ name: "HookTelemetryError", code: "OPTION", field, recoverable: false });
      expect((e as Record<symbol, unknown>)[Symbol.for("outrider.error")]).toBe(true);
    }
  });

  it("an unknown kind is a programming error", () => {
    const { telemetry } = make();
    expect(() => telemetry.emit(0, "h", "prefun" as never)).toThrow(
      expect.objectContaining({ code: "KIND", text: "prefun" }),
    );
    expect(() => telemetry.time("h", "toString" as never, () => 1)).toThrow(expect.objectContaining({ code: "KIND" }));
  });
});

describe("memory sink", () => {
  it("keeps totals per series and removes by labels", () => {
    const sink = createMemorySink();
    sink.incrCounter("c", 1, { a: "1", b: "2" });
    sink.incrCounter("c", 2, { b: "2", a: "1" });
    sink.addSample("s", 5, { a: "1" });
    sink.addSample("s", 7, { a: "1" });
    sink.setGauge("g", 3, { a: "2" });
    sink.setGauge("g", 4, { a: "2" });
    expect(sink.series().map((s) => [s.kind, s.name, s.value, s.count])).toEqual([
      ["counter", "c", 3, 2],
      ["sample", "s", 12, 2],
      ["gauge", "g", 4, 2],
    ]);
    expect(sink.value("c", { a: "1" })).toBe(3);
    sink.remove({ a: "1" });
    expect(sink.series().map((s) => s.name)).toEqual(["g"]);
    expect(sink.value("c")).toBeUndefined();
  });
});
