export { setAllocGauges, taskLabels } from "./alloc-gauges.ts";
export { INTERVAL_MS, MAX_SERIES, MetricsRegistry } from "./metrics-registry.ts";
export { nodeLabels, setNodeGauges } from "./node-gauges.ts";
export { PROMETHEUS_CONTENT_TYPE, toPrometheus } from "./prometheus.ts";
