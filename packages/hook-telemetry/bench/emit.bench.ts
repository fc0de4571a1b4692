// One emission (a duration and a count) against prom-client's histogram and counter with the same labels.
import { Counter, Histogram, Registry } from "prom-client";
import { createHookTelemetry, createMemorySink, type MetricsSink } from "../src/index.ts";
import { createPromClientSink } from "../src/prom-client/index.ts";

const base = {
  node_id: "a4eb80ae-ae34-d335-fdba-fc92788d5944",
  datacenter: "dc1",
  node_class: "none",
  node_pool: "default",
  namespace: "default",
};
const hooks = [
  "alloc_dir",
  "network",
  "group_services",
  "csi_hook",
  "checks_hook",
  "cpuparts_hook",
  "identity",
  "consul",
];
const ROUNDS = 7;
const CALLS = 200_000;

function median(run: (hook: string) => void): number {
  for (let i = 0; i < CALLS / 4; i++) run(hooks[i % hooks.length]!);
  const all = Array.from({ length: ROUNDS }, () => {
    const start = process.hrtime.bigint();
    for (let i = 0; i < CALLS; i++) run(hooks[i % hooks.length]!);
    return Number(process.hrtime.bigint() - start) / CALLS;
  });
  return all.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
}

let seen = 0;
const counting: MetricsSink = { incrCounter: () => void seen++, addSample: () => void seen++ };
const emitting = (sink: MetricsSink) => {
  const telemetry = createHookTelemetry({ sink, labels: () => base });
  return median((hook) => telemetry.emit(telemetry.start(), hook, "prerun"));
};

const register = new Registry();
const labelNames = [...Object.keys(base), "hook_name"];
const counter = new Counter({ name: "success", help: "success", labelNames, registers: [register] });
const histogram = new Histogram({ name: "elapsed", help: "elapsed", labelNames, registers: [register] });
const theirs = median((hook) => {
  const start = performance.now();
  const labels = { ...base, hook_name: hook };
  histogram.observe(labels, performance.now() - start);
  counter.inc(labels, 1);
});

const peer = "prom-client 15.1.3";
const row = (name: string, ours: number, goal: string) =>
  console.log(
    JSON.stringify({
      package: "hook-telemetry",
      case: name,
      ours,
      peer,
      theirs,
      unit: "ns/emit",
      ratio: ours / theirs,
      goal,
    }),
  );
row("emit into a sink that counts calls", emitting(counting), "≤ 0.25×");
row("emit into the memory sink (totals per series)", emitting(createMemorySink()), "≤ 0.25×");
row(
  "emit through the adapter into prom-client itself (histogram)",
  emitting(createPromClientSink({ register: new Registry(), samples: "histogram" })),
  "≤ 1.1×",
);
const off = createHookTelemetry({ sink: counting, labels: () => base, disabled: true });
row(
  "emit, switched off",
  median((hook) => off.emit(off.start(), hook, "prerun")),
  "≤ 0.02×",
);
if (seen === 0) throw new Error("the sink was not called");
