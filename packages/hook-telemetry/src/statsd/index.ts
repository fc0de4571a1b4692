export { createHotShotsSink, type HotShotsSinkOptions, type StatsdClient } from "./hot-shots-sink.ts";
export type { StatsdDialect } from "./statsd-line.ts";
export {
  createStatsdSink,
  DEFAULT_MAX_PACKET_BYTES,
  DEFAULT_MAX_QUEUE,
  type StatsdSink,
  type StatsdSinkOptions,
} from "./statsd-sink.ts";
