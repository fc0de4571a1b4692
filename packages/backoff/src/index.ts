export { attempts, type Attempt, type AttemptsOptions } from "./attempts.ts";
export { backoff, type BackoffFactor } from "./backoff.ts";
export {
  isRecoverableError,
  RetryExhaustedError,
  UnrecoverableError,
  type BackoffRangeError,
} from "./backoff-error.ts";
export { MAX_TIMER_MS, systemClock, type Clock } from "./clock.ts";
export { createBackoff, type Backoff, type BackoffOptions, type Jitter } from "./create-backoff.ts";
export { onAbort } from "./on-abort.ts";
export {
  retry,
  type BackoffSource,
  type EffortLimits,
  type RetryContext,
  type RetryEvent,
  type RetryOptions,
} from "./retry.ts";
export { sleep, type WaitOptions } from "./sleep.ts";
export { rateScaledInterval, renewAt, staggered } from "./stagger.ts";
export { waitUntil } from "./wait-until.ts";
