export { createPromClientSink, SUMMARY_WINDOW_S, type PromClientSinkOptions } from "./prom-client-sink.ts";
