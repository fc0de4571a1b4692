export { createOpenTelemetrySink, type OpenTelemetrySinkOptions } from "./opentelemetry-sink.ts";
