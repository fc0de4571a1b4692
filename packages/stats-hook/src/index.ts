export {
  classifyFailure,
  NOT_IMPLEMENTED_CODE,
  NOT_IMPLEMENTED_TEXT,
  PLUGIN_SHUTDOWN_TEXT,
  type StatsFailure,
} from "./classify-failure.ts";
export {
  DEFAULT_RETRY_BASE_MS,
  DEFAULT_RETRY_LIMIT_MS,
  FLAP_LIMIT_MS,
  MIN_INTERVAL_MS,
  RELEASE_TIMEOUT_MS,
  REPEAT_LOG_MS,
  type LatestSample,
  type StatsFn,
  type StatsHookCounters,
  type StatsHookOptions,
  type StatsSink,
  type StatsSource,
  type SubscribeFn,
} from "./options.ts";
export { StatsHook } from "./stats-hook.ts";
export { createTicker, type Ticker } from "./ticker.ts";
export { MAX_TURN_MS, type TickerJob } from "./ticker-wheel.ts";
