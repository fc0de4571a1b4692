import { readFileSync } from "node:fs";
import { Registry, register } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { createHookTelemetry } from "../src/index.ts";
import { createPromClientSink } from "../src/prom-client/index.ts";

afterEach(() => register.clear());

const nomad = readFileSync(new URL("fixtures/nomad-2.0.5-hook-metrics.prom", import.meta.url), "utf8")
  .trim()
  .split("\n");
const byName = ([a]: [string, string], [b]: [string, string]) => (a < b ? -1 : 1);
const labelsOf = (line: string): Record<string, string> =>
  Object.fromEntries(
    [...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value] as [string, string]),
  );

describe("in prom-client", () => {
  it("the families and labels are the ones that Nomad 2.0.5 shows", async () => {
    const registry = new Registry();
    const sink = createPromClientSink({ register: registry });
    const counted = nomad.filter((line) => /_(success|failed)\{/.test(line));
    expect(counted.length).toBeGreaterThan(5);
    for (const line of counted) {
      const { hook_name, ...base } = labelsOf(line);
      const telemetry = createHookTelemetry({ sink, labels: () => base as Record<string, string>, now: () => 0 });
      const error = line.includes("_failed{") ? new Error("x") : undefined;
      for (let i = 0; i < Number(line.split(" ").at(-1)); i++)
        telemetry.emit(0, hook_name!, line.includes("alloc_hook") ? "prerun" : "prestart", error);
    }
    const ours = (await registry.metrics()).trim().split("\n");
    const types = (lines: string[]) => lines.filter((line) => line.startsWith("# ")).toSorted();
    expect(types(ours)).toEqual(types(nomad));
    const series = (lines: string[], pick: RegExp) =>
      lines
        .filter((line) => pick.test(line))
        .map((line) =>
          JSON.stringify([line.split("{")[0], Object.entries(labelsOf(line)).toSorted(byName), line.split(" ").at(-1)]),
        )
        .toSorted();
    expect(series(ours, /_(success|failed)\{/)).toEqual(series(nomad, /_(success|failed)\{/));
    // The recording holds some series of each family only: those that it has in both must agree.
    const elapsed = new Set(series(ours, /_elapsed_count\{/));
    const both = series(nomad, /_elapsed_count\{/).filter((one) =>
      counted.some((line) => one.includes(JSON.stringify(labelsOf(line).hook_name))),
    );
    expect(both.length).toBeGreaterThan(2);
    expect(both.filter((one) => !elapsed.has(one))).toEqual([]);
  });

  it("samples are summaries with Nomad's quantiles, or histograms on demand", async () => {
    const registry = new Registry();
    createPromClientSink({ register: registry }).addSample("a.b-c", 5, { l: "1" });
    createPromClientSink({ register: registry, samples: "histogram", buckets: [1, 10] }).addSample("h", 5, { l: "1" });
    createPromClientSink({ register: registry, samples: "histogram" }).addSample("d", 5, {});
    const text = await registry.metrics();
    expect(text).toContain('a_b_c{quantile="0.99",l="1"} 5');
    expect(text).toContain('h_bucket{le="10",l="1"} 1');
    expect(text).toContain('d_bucket{le="0.005"} 0');
  });

  it("gauges are set, series are removed by any of their labels and come back when written again", async () => {
    const registry = new Registry();
    const sink = createPromClientSink({ register: registry });
    const a = { alloc: "1", task: "a" };
    const b = { alloc: "1", task: "b" };
    const c = { alloc: "2", task: "c" };
    for (const labels of [a, b, c]) {
      sink.setGauge("g", 7, labels);
      sink.incrCounter("n", 1, labels);
      sink.addSample("s", 1, labels);
    }
    sink.remove({ alloc: "1" });
    let text = await registry.metrics();
    expect(text).not.toContain('task="a"');
    expect(text.match(/task="c"/g)).toHaveLength(7);
    sink.incrCounter("n", 1, a);
    text = await registry.metrics();
    expect(text).toContain('n{alloc="1",task="a"} 1');
    sink.remove({ alloc: "1" });
    expect(await registry.metrics()).not.toContain('task="a"');
  });

  it("equal labels in another object are the same series", async () => {
    const registry = new Registry();
    const sink = createPromClientSink({ register: registry });
    for (let i = 0; i < 5; i++) sink.incrCounter("n", 1, { l: "x" });
    expect(await registry.metrics()).toContain('n{l="x"} 5');
  });

  it("a family keeps one set of label names: missing ones are empty, later ones are left out and told once (hashicorp/nomad#25296)", async () => {
    const registry = new Registry();
    const dropped: string[] = [];
    const sink = createPromClientSink({
      register: registry,
      labelNames: ["node_id"],
      onDroppedLabel: (metric, label) => dropped.push(`${metric} ${label}`),
    });
    sink.incrCounter("n", 1, { a: "1" });
    sink.incrCounter("n", 1, { node_id: "x", a: "1", late: "2" });
    sink.incrCounter("n", 1, { node_id: "y", a: "1", late: "3" });
    createPromClientSink({ register: registry }).incrCounter("m", 1, { a: "1" });
    const text = await registry.metrics();
    expect(text).toContain('n{node_id="",a="1"} 1');
    expect(text).toContain('n{node_id="x",a="1"} 1');
    expect(dropped).toEqual(["n late"]);
    const silent = createPromClientSink({ register: registry });
    silent.incrCounter("m", 1, { a: "1" });
    silent.incrCounter("m", 1, { a: "1", b: "2" });
    expect(await registry.metrics()).toContain('m{a="1"} 3');
  });

  it("illegal names are made legal, and of two that collide the first wins (hashicorp/nomad#5903)", async () => {
    const registry = new Registry();
    createPromClientSink({ register: registry }).incrCounter("1.a/b=c d", 1, {
      "my-key": "1",
      "my.key": "2",
      "9": "3",
    });
    const text = await registry.metrics();
    expect(text).toMatch(/^_1_a_b_c_d\{.*my_key="1".*\} 1$/m);
    expect(text).toContain('_9="3"');
    expect(text).not.toContain('"2"');
  });

  it("label names that Prometheus keeps for itself get a prefix", async () => {
    const registry = new Registry();
    const sink = createPromClientSink({ register: registry });
    sink.addSample("s", 1, { quantile: "a", le: "b" });
    expect(await registry.metrics()).toContain('s_count{exported_quantile="a",exported_le="b"} 1');
  });

  it("goes into the global registry by default", async () => {
    createPromClientSink().incrCounter("global_one", 2, {});
    expect(await register.metrics()).toContain("global_one 2");
  });
});
