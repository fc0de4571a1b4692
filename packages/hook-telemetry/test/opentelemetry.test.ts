import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, it } from "vitest";
import { createHookTelemetry } from "../src/index.ts";
import { createOpenTelemetrySink } from "../src/opentelemetry/index.ts";

describe("in OpenTelemetry's SDK", () => {
  it("hooks arrive as a histogram in ms and counters, with their labels as attributes", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const sink = createOpenTelemetrySink({ meter: provider.getMeter("outrider") });
    let ms = 0;
    const telemetry = createHookTelemetry({
      sink,
      labels: () => ({ node_id: "n1", namespace: "default" }),
      now: () => ms,
    });
    for (let i = 0; i < 3; i++) {
      const start = telemetry.start();
      ms += 10;
      telemetry.emit(start, "network", "prerun", i === 2 ? new Error("x") : undefined);
    }
    sink.setGauge("outrider.level", 4, { a: "b" });
    await provider.forceFlush();
    const metrics = exporter.getMetrics().flatMap((m) => m.scopeMetrics.flatMap((s) => s.metrics));
    const of = (name: string) => metrics.find((m) => m.descriptor.name === name)!;
    const attributes = { node_id: "n1", namespace: "default", hook_name: "network" };
    expect(of("nomad.client.alloc_hook.prerun.elapsed").descriptor.unit).toBe("ms");
    expect(of("nomad.client.alloc_hook.prerun.elapsed").dataPoints[0]).toMatchObject({
      attributes,
      value: { sum: 30, count: 3, min: 10, max: 10 },
    });
    expect(of("nomad.client.alloc_hook.prerun.success").dataPoints[0]).toMatchObject({ attributes, value: 2 });
    expect(of("nomad.client.alloc_hook.prerun.failed").dataPoints[0]).toMatchObject({ attributes, value: 1 });
    expect(of("outrider.level").dataPoints[0]).toMatchObject({ attributes: { a: "b" }, value: 4 });
    await provider.shutdown();
  });
});
