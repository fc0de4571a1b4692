import { createHookTelemetry, createMemorySink, type HookKind, type MetricsSink } from "@outrider/hook-telemetry";
import { createOpenTelemetrySink } from "@outrider/hook-telemetry/opentelemetry";
import { createPromClientSink } from "@outrider/hook-telemetry/prom-client";
import { createStatsdSink } from "@outrider/hook-telemetry/statsd";
import { metrics } from "@opentelemetry/api";
import { Registry } from "prom-client";
import { codeOf, equal, exact } from "./assert.mjs";

export async function hookTelemetryUser(): Promise<void> {
  const sink = createMemorySink();
  const telemetry = createHookTelemetry({ sink, labels: () => ({ node_id: "n" }), now: () => 5 });
  exact<string>()(await telemetry.time("network", "prerun", async () => "ready"));
  exact<number>()(telemetry.time("network", "prerun", () => 1));
  equal(sink.value("nomad.client.alloc_hook.prerun.success"), 2);
  const register = new Registry();
  await using statsd = createStatsdSink({ port: 9 });
  const sinks: MetricsSink[] = [
    createPromClientSink({ register }),
    createOpenTelemetrySink({ meter: metrics.getMeter("consumer") }),
    statsd,
  ];
  for (const one of sinks) createHookTelemetry({ sink: one, labels: () => ({}) }).emit(0, "network", "prerun");
  equal((await register.metrics()).includes("nomad_client_alloc_hook_prerun_success"), true);
  const kind: HookKind = "prestart";
  telemetry.emit(0, "artifacts", kind, new Error("404"));
  equal(sink.value("nomad.client.task_hook.prestart.failed"), 1);
  // @ts-expect-error there is no such hook
  const code = codeOf(() => telemetry.emit(0, "artifacts", "preflight"));
  equal(code, "KIND");
}
