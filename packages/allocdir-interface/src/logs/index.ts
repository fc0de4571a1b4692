export {
  createLogCollector,
  DRAIN_TIMEOUT_MS,
  type CollectRequest,
  type LogCollector,
  type LogCollectorOptions,
  type LogStreamInfo,
} from "./collector.ts";
export { LINE_WINDOW_BYTES } from "./line-rule.ts";
export type { NativeLogIo, ReadinessPoller } from "./native-io.ts";
export { DISK_TROUBLE_GRACE_MS } from "./sink.ts";
