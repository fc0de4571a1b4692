import { createHookTelemetry } from "@outrider/hook-telemetry";
import { ManualClock } from "@outrider/backoff/testing";
import { AllocationStruct, make } from "@outrider/nomad-structs";
import { beforeEach, describe, expect, it } from "vitest";
import {
  INTERVAL_MS,
  MAX_SERIES,
  MetricsRegistry,
  nodeLabels,
  setAllocGauges,
  setNodeGauges,
  taskLabels,
  toPrometheus,
} from "../../src/metrics/index.ts";
import { testNode } from "../server/harness.ts";

let clock: ManualClock;
let metrics: MetricsRegistry;
beforeEach(() => {
  clock = new ManualClock();
  metrics = new MetricsRegistry({ clock, host: "node1" });
});

describe("metrics", () => {
  it("shows the present interval while it is the first, and the last finished one later", async () => {
    metrics.incrCounter("c", 2, { a: "1" });
    metrics.incrCounter("c", 4, { a: "1" });
    const first = metrics.snapshot();
    expect(first).toMatchObject({
      Timestamp: "2026-01-01 00:00:00 +0000 UTC",
      PrecisionGauges: [],
      Points: [],
      Counters: [
        { Name: "c", Count: 2, Sum: 6, Min: 2, Max: 4, Mean: 3, Rate: 0.6, Labels: { a: "1", host: "node1" } },
      ],
    });
    expect(first.Counters[0]!.Stddev).toBeCloseTo(Math.SQRT2);
    await clock.advance(INTERVAL_MS);
    metrics.incrCounter("c", 100, { a: "1" });
    expect(metrics.snapshot()).toMatchObject({ Timestamp: "2026-01-01 00:00:00 +0000 UTC", Counters: [{ Sum: 6 }] });
    await clock.advance(3 * INTERVAL_MS);
    expect(metrics.snapshot().Counters).toEqual([]);
  });

  it("keeps samples in ms, with quantiles of the last ten seconds", async () => {
    for (const ms of [5, 1, 3]) metrics.addSample("s.elapsed", ms, {});
    expect(metrics.snapshot().Samples[0]).toMatchObject({
      Name: "s.elapsed",
      Count: 3,
      Sum: 9,
      Min: 1,
      Max: 5,
      Mean: 3,
    });
    expect(toPrometheus(metrics)).toContain('s_elapsed{host="node1",quantile="0.5"} 3\n');
    await clock.advance(INTERVAL_MS + 1);
    const text = toPrometheus(metrics);
    expect(text).toContain('s_elapsed{host="node1",quantile="0.5"} NaN\n');
    expect(text).toContain('s_elapsed_sum{host="node1"} 9\ns_elapsed_count{host="node1"} 3\n');
    for (let i = 0; i < 600; i++) metrics.addSample("s.elapsed", i, {});
    expect(metrics.totals().samples[0]!.recent).toHaveLength(512);
  });

  it("shows Prometheus a series for 60 s after its last change, like Nomad, and begins it anew then", async () => {
    const text = (): string => toPrometheus(metrics);
    metrics.incrCounter("nomad.client.task_hook.prestart.failed", 2, {});
    metrics.addSample("nomad.client.task_hook.prestart.elapsed", 5, {});
    metrics.setGauge("nomad.client.some", 3, {});
    await clock.advance(59_000);
    metrics.incrCounter("nomad.client.task_hook.prestart.failed", 1, {});
    await clock.advance(1000);
    expect(text()).toContain('prestart_failed{host="node1"} 3');
    expect(text()).toContain('prestart_elapsed_count{host="node1"} 1');
    expect(text()).toContain('nomad_client_some{host="node1"} 3');
    await clock.advance(1);
    expect(text()).not.toContain("elapsed");
    expect(text()).not.toContain("some");
    await clock.advance(59_000);
    expect(text()).toBe("");
    metrics.incrCounter("nomad.client.task_hook.prestart.failed", 1, {});
    expect(text()).toContain('prestart_failed{host="node1"} 1');
  });

  it("begins a series anew also when nobody looked in between", async () => {
    metrics.incrCounter("nomad.client.rare", 4, {});
    await clock.advance(60_001);
    metrics.incrCounter("nomad.client.rare", 1, {});
    expect(toPrometheus(metrics)).toContain('nomad_client_rare{host="node1"} 1');
  });

  it("makes names and labels legal and keeps one type a family (hashicorp/nomad#25296)", () => {
    metrics.incrCounter("a.b-c", 1, { "my-label": 'x"\\\n', "1st": "y" });
    metrics.setGauge("a.b-c", 5, {});
    metrics.setGauge("1.inf", Number.POSITIVE_INFINITY, {});
    metrics.setGauge("2.inf", Number.NEGATIVE_INFINITY, {});
    const text = toPrometheus(metrics);
    expect(text.match(/# TYPE a_b_c/g)).toHaveLength(1);
    expect(text).toContain('_1_inf{host="node1"} +Inf');
    expect(text).toContain('_2_inf{host="node1"} -Inf');
    const other = new MetricsRegistry({ clock, host: "h" });
    other.incrCounter("a.b-c", 1, { "my-label": 'x"\\\n', "1st": "y" });
    expect(toPrometheus(other)).toContain('a_b_c{_1st="y",host="h",my_label="x\\"\\\\\\n"} 1');
  });

  it("forgets the series of an ended allocation everywhere (hashicorp/nomad#3474)", () => {
    metrics.incrCounter("c", 1, { alloc_id: "a", task: "t" });
    metrics.addSample("s", 1, { alloc_id: "a" });
    metrics.setGauge("g", 1, { alloc_id: "a" });
    metrics.setGauge("g", 2, { alloc_id: "b" });
    metrics.remove({ alloc_id: "a" });
    expect(toPrometheus(metrics)).toBe('# HELP g g\n# TYPE g gauge\ng{alloc_id="b",host="node1"} 2\n');
  });

  it("bounds the number of series and says how many it refused", () => {
    for (let i = 0; i < MAX_SERIES + 3; i++) metrics.setGauge("g", 1, { i: String(i) });
    metrics.incrCounter("c", 1, {});
    metrics.addSample("s", 1, {});
    expect(metrics.dropped).toBe(5);
  });

  it("asks its sources when it is read, and shows nothing of what they no longer tell", () => {
    let tasks = ["a", "b"];
    using source = metrics.onCollect((sink) => tasks.forEach((task) => sink.setGauge("g", 1, { task })));
    expect(metrics.snapshot().Gauges.map((g) => g.Labels["task"])).toEqual(["a", "b"]);
    tasks = ["b"];
    expect(metrics.snapshot().Gauges.map((g) => g.Labels["task"])).toEqual(["b"]);
    source[Symbol.dispose]();
    expect(metrics.snapshot().Gauges).toEqual([]);
  });

  it("takes hook telemetry with complete labels", () => {
    const labels = nodeLabels(testNode());
    const telemetry = createHookTelemetry({ sink: metrics, labels: () => ({ ...labels, namespace: "default" }) });
    telemetry.time("alloc_dir", "prerun", () => undefined);
    expect(metrics.snapshot().Counters[0]).toMatchObject({
      Name: "nomad.client.alloc_hook.prerun.success",
      Labels: {
        node_id: testNode().ID,
        datacenter: "dc1",
        node_class: "none",
        node_pool: "default",
        namespace: "default",
        hook_name: "alloc_dir",
        host: "node1",
      },
    });
    expect(nodeLabels(testNode({ NodeClass: "big", NodePool: "" }))).toMatchObject({
      node_class: "big",
      node_pool: "default",
    });
  });

  it("tells what the node has and gives", () => {
    const alloc = make(AllocationStruct, {
      ID: "a",
      ClientStatus: "running",
      Resources: { MemoryMaxMB: 64 },
      AllocatedResources: {
        Tasks: { t: { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 32 } } },
        Shared: { DiskMB: 300 },
      },
    } as never);
    using _ = metrics.onCollect((sink) =>
      setNodeGauges(
        sink,
        testNode({ Status: "ready" }),
        {
          allocations: 1,
          migrating: 0,
          blocked: 0,
          pending: 0,
          running: 1,
          terminal: 0,
          tasks: { pending: 0, running: 1, dead: 0 },
        },
        [alloc, { ...alloc, ClientStatus: "complete" }],
      ),
    );
    const gauges = Object.fromEntries(
      metrics.snapshot().Gauges.map((g) => [g.Name.replace("nomad.client.", ""), g.Value]),
    );
    expect(gauges).toMatchObject({
      "allocations.running": 1,
      "tasks.running": 1,
      "allocated.cpu": 100,
      "allocated.memory": 32,
      "allocated.max_memory": 64,
      "allocated.disk": 300,
      "unallocated.cpu": 900,
      "unallocated.memory": 968,
      "unallocated.disk": 9700,
    });
    expect(metrics.snapshot().Gauges[0]!.Labels).toMatchObject({
      node_status: "ready",
      node_scheduling_eligibility: "eligible",
    });
  });

  it("tells usage of running tasks, measured values also when they are zero", () => {
    const alloc = make(AllocationStruct, {
      ID: "a",
      JobID: "j",
      TaskGroup: "g",
      Namespace: "default",
      AllocatedResources: { Tasks: { t: { Cpu: { CpuShares: 100 }, Memory: { MemoryMB: 32, MemoryMaxMB: 64 } } } },
    } as never);
    const usage = {
      ResourceUsage: {
        MemoryStats: { RSS: 0, Cache: 5, MaxUsage: 0, Measured: ["RSS", "Max Usage"] },
        CpuStats: { Percent: 2.5 },
      },
      Timestamp: 1,
      Pids: null,
    };
    const runner = (state: string): never =>
      ({
        alloc: () => alloc,
        allocState: () => ({ taskStates: { t: { State: state } } }),
        statsReporter: () => ({ latestAllocStats: () => ({ Tasks: { t: usage } }) }),
      }) as never;
    using _ = metrics.onCollect((sink) => setAllocGauges(sink, [runner("running")]));
    const gauges = Object.fromEntries(
      metrics.snapshot().Gauges.map((g) => [g.Name.replace("nomad.client.allocs.", ""), g.Value]),
    );
    expect(gauges).toEqual({
      "memory.rss": 0,
      "memory.cache": 5,
      "memory.max_usage": 0,
      "memory.allocated": 32 * 1_048_576,
      "memory.max_allocated": 64 * 1_048_576,
      "cpu.allocated": 100,
      "cpu.total_percent": 2.5,
      "cpu.system": 0,
      "cpu.user": 0,
      "cpu.throttled_time": 0,
      "cpu.throttled_periods": 0,
      "cpu.total_ticks": 0,
    });
    expect(taskLabels(alloc, "t")).toEqual({
      job: "j",
      task_group: "g",
      alloc_id: "a",
      task: "t",
      namespace: "default",
    });
    const other = new MetricsRegistry({ clock, host: "h" });
    using __ = other.onCollect((sink) => setAllocGauges(sink, [runner("dead")]));
    expect(other.snapshot().Gauges).toEqual([]);
  });
});
