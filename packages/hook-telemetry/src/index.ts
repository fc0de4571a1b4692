export { HookTelemetryError, type HookTelemetryErrorCode } from "./error.ts";
export { DEFAULT_KINDS, HOOK_KINDS, hookMetricNames, type HookKind, type HookMetricNames } from "./hook-kinds.ts";
export {
  createHookTelemetry,
  DEFAULT_PREFIX,
  type HookTelemetry,
  type HookTelemetryOptions,
} from "./hook-telemetry.ts";
export { createMemorySink, type MemorySeries, type MemorySink } from "./memory-sink.ts";
export type { Labels, MetricsSink } from "./metrics-sink.ts";
