import { HookTelemetryError } from "./error.ts";
import { DEFAULT_KINDS, HOOK_KINDS, hookMetricNames, type HookKind, type HookMetricNames } from "./hook-kinds.ts";
import { LabelCache } from "./label-cache.ts";
import type { MetricsSink } from "./metrics-sink.ts";

/** First parts of all metric names unless `prefix` says otherwise. @public */
export const DEFAULT_PREFIX = "nomad.client";

/** Options of {@link createHookTelemetry}. @public */
export interface HookTelemetryOptions {
  /** Where the datapoints go. */
  readonly sink: MetricsSink;
  /**
   * The base labels, asked for at each emission: node_id, datacenter, node_class, node_pool, namespace, host in Nomad. Never kept and never
   * changed; `hook_name` is added to a copy.
   */
  readonly labels: () => Record<string, string>;
  /** Switches everything off: no datapoint, no clock read, no label call. Default false. */
  readonly disabled?: boolean;
  /** Measures every kind of hook instead of prerun and prestart only. Default false. */
  readonly allKinds?: boolean;
  /** The clock, milliseconds; `startMs` of `emit` must come from the same one. Default `performance.now`. */
  readonly now?: () => number;
  /** First parts of the metric names. Default `nomad.client`. */
  readonly prefix?: string;
  /** Gets what the sink or `labels` threw; a hook never fails because of its telemetry. Default: dropped. */
  readonly onError?: (error: unknown) => void;
}

/** Measures hooks. @public */
export interface HookTelemetry {
  /** Whether anything is emitted at all. */
  readonly enabled: boolean;
  /** The start time for `emit`; 0 without reading the clock when switched off. */
  start(): number;
  /**
   * One hook ran: a sample of its duration, then one count of success, or of failure when `error` is given (not `undefined` or `null`).
   * Kinds that are not measured do nothing. Throws {@link HookTelemetryError} `KIND` for an unknown kind.
   */
  emit(startMs: number, hookName: string, kind: HookKind, error?: unknown): void;
  /** Runs `fn`, emits when it returned, resolved, threw or rejected, and passes its result or failure on untouched. */
  time<T>(hookName: string, kind: HookKind, fn: () => T): T;
}

/** Makes a telemetry handler; one per set of base labels. Throws {@link HookTelemetryError} `OPTION` for a bad option. @public */
export function createHookTelemetry(options: HookTelemetryOptions): HookTelemetry {
  check(options);
  return options.disabled === true ? OFF : new Emitter(options);
}

const OFF: HookTelemetry = Object.freeze({
  enabled: false,
  start: () => 0,
  emit: () => undefined,
  time: <T>(_hookName: string, _kind: HookKind, fn: () => T): T => fn(),
});

class Emitter implements HookTelemetry {
  readonly enabled = true;
  readonly #options: HookTelemetryOptions;
  readonly #now: () => number;
  readonly #names = new Map<string, HookMetricNames | undefined>();
  readonly #labels = new LabelCache();

  constructor(options: HookTelemetryOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const prefix = options.prefix ?? DEFAULT_PREFIX;
    for (const kind of Object.keys(HOOK_KINDS) as HookKind[]) {
      const measured = options.allKinds === true || DEFAULT_KINDS.includes(kind);
      this.#names.set(kind, measured ? hookMetricNames(kind, prefix) : undefined);
    }
  }

  start(): number {
    return this.#now();
  }

  emit(startMs: number, hookName: string, kind: HookKind, error?: unknown): void {
    const names = this.#names.get(kind);
    if (names === undefined) return this.#unmeasured(kind);
    // A wall clock may be set back, a caller may hand in nonsense: never a negative or NaN duration.
    const elapsed = this.#now() - startMs;
    try {
      const { sink } = this.#options;
      const labels = this.#labels.get(this.#options.labels(), hookName);
      sink.addSample(names.elapsed, elapsed > 0 ? elapsed : 0, labels);
      sink.incrCounter(error === undefined || error === null ? names.success : names.failed, 1, labels);
    } catch (failure) {
      this.#report(failure);
    }
  }

  time<T>(hookName: string, kind: HookKind, fn: () => T): T {
    if (this.#names.get(kind) === undefined) {
      this.#unmeasured(kind);
      return fn();
    }
    const startMs = this.#now();
    let result: T;
    try {
      result = fn();
    } catch (error) {
      this.emit(startMs, hookName, kind, failed(error));
      throw error;
    }
    if (!isPromise(result)) {
      this.emit(startMs, hookName, kind);
      return result;
    }
    return result.then(
      (value: unknown) => {
        this.emit(startMs, hookName, kind);
        return value;
      },
      (error: unknown) => {
        this.emit(startMs, hookName, kind, failed(error));
        throw error;
      },
    ) as T;
  }

  #unmeasured(kind: string): void {
    if (!this.#names.has(kind)) {
      throw new HookTelemetryError("KIND", "kind", kind, `one of ${Object.keys(HOOK_KINDS).join(", ")}`);
    }
  }

  #report(failure: unknown): void {
    try {
      this.#options.onError?.(failure);
    } catch {
      // The reporter is the last place to tell.
    }
  }
}

// `throw undefined` is a failure too.
const failed = (error: unknown): unknown => error ?? new Error("hook failed without an error");

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function check(o: HookTelemetryOptions): void {
  const isFn = (value: unknown): boolean => typeof value === "function";
  const sink: Partial<MetricsSink> | null | undefined = o.sink;
  if (!isFn(sink?.incrCounter) || !isFn(sink?.addSample)) {
    throw new HookTelemetryError("OPTION", "sink", sink, "an object with incrCounter and addSample");
  }
  if (!isFn(o.labels)) throw new HookTelemetryError("OPTION", "labels", o.labels, "a function");
  if (o.now !== undefined && !isFn(o.now)) throw new HookTelemetryError("OPTION", "now", o.now, "a function");
  if (o.prefix !== undefined && !/^[^.\s]+(\.[^.\s]+)*$/.test(o.prefix)) {
    throw new HookTelemetryError("OPTION", "prefix", o.prefix, "dotted parts without spaces");
  }
}
