import { sleep, type Clock } from "@outrider/backoff";
import type { Logger } from "@outrider/foundation";
import { nsToMs, type Allocation } from "@outrider/nomad-structs";
import { planChecks, type PlannedCheck } from "./check-plan.ts";
import { CheckRestartWatch } from "./check-restart-watch.ts";
import { probeService, type Probe } from "./probe.ts";

/** What a check last said; the keys are those of Nomad's API. */
export interface CheckResult {
  readonly ID: string;
  readonly Mode: "healthiness" | "readiness";
  readonly Status: "success" | "failure" | "pending";
  readonly StatusCode: number;
  readonly Output: string;
  /** Epoch seconds. */
  readonly Timestamp: number;
  readonly Group: string;
  readonly Task: string;
  readonly Service: string;
  readonly Check: string;
}

/** What the checks of one allocation need. */
export interface AllocChecksOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly probe?: Probe;
  /** Restarts a task, or with an empty name all that run, for a failing check; rejects when it does not run. */
  readonly restart: (task: string, reason: string) => Promise<void>;
  /** Since when a task runs (empty name: the last one that started), monotonic ms; undefined while it does not. */
  readonly runningSince: (task: string) => number | undefined;
}

/** Runs the native service checks of one allocation, each at its interval, and restarts tasks whose checks keep failing. */
export class AllocChecks {
  readonly #o: AllocChecksOptions;
  readonly #probe: Probe;
  #results = new Map<string, CheckResult>();
  #stop: AbortController | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #expected: readonly PlannedCheck[] = [];
  /** The start of each task that was restarted last. */
  readonly #restarted = new Map<string, number | undefined>();
  readonly #listeners = new Set<() => void>();

  constructor(o: AllocChecksOptions) {
    this.#o = o;
    this.#probe = o.probe ?? probeService;
  }

  /** Starts the checks of this version; those of another one end. What stayed the same keeps its result. */
  start(alloc: Allocation, replace: (text: string) => string): void {
    this.#stop?.abort();
    const stop = (this.#stop = new AbortController());
    const { checks, faults } = planChecks(alloc, replace);
    for (const fault of faults) this.#o.logger.error(fault, "a service check cannot be made");
    this.#expected = checks;
    const before = this.#results;
    this.#results = new Map(
      checks.map((c) => [
        c.id,
        before.get(c.id) ?? this.#result(c, alloc, { status: "pending", output: "nomad: waiting to run", code: 0 }),
      ]),
    );
    for (const listener of this.#listeners) listener();
    this.#running = Promise.all(checks.map((c) => this.#loop(c, alloc, stop.signal)));
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    this.#stop = undefined;
    await this.#running;
    this.#running = Promise.resolve();
  }

  /** What every check last said, by id. */
  results(): Record<string, CheckResult> {
    return Object.fromEntries(this.#results);
  }

  /** Checks that count for health: how many there are, and whether all of them say yes. */
  health(): { readonly count: number; readonly passing: boolean } {
    const counted = this.#expected.filter((c) => c.check.OnUpdate !== "ignore");
    const passing = counted.every((c) => {
      const result = this.#results.get(c.id);
      return result?.Status === "success" || (result?.Status === "failure" && result.Mode === "readiness");
    });
    return { count: counted.length, passing };
  }

  /** Told after each result that differs from the one before. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #result(
    c: PlannedCheck,
    alloc: Allocation,
    r: { status: CheckResult["Status"]; output: string; code: number },
  ): CheckResult {
    return {
      ID: c.id,
      Mode: c.check.OnUpdate === "ignore" ? "readiness" : "healthiness",
      Status: r.status,
      StatusCode: r.code,
      Output: r.output,
      Timestamp: Math.floor(this.#o.clock.now() / 1000),
      Group: alloc.Name,
      Task: c.task,
      Service: c.service.Name,
      Check: c.name,
    };
  }

  async #loop(c: PlannedCheck, alloc: Allocation, signal: AbortSignal): Promise<void> {
    const { clock } = this.#o;
    const watch =
      c.restarts === undefined || c.check.CheckRestart === null
        ? undefined
        : new CheckRestartWatch(c.check.CheckRestart, nsToMs(c.check.Interval));
    const intervalMs = Math.max(1000, nsToMs(c.check.Interval));
    const timeoutMs = Math.max(1000, nsToMs(c.check.Timeout));
    try {
      for (;;) {
        const limit = new AbortController();
        const timer = clock.setTimeout(() => limit.abort(new Error("no answer in time")), timeoutMs);
        const found = await this.#probe(c, AbortSignal.any([signal, limit.signal]));
        clock.clearTimeout(timer);
        if (signal.aborted) return;
        this.#keep(
          c.id,
          this.#result(c, alloc, {
            status: found.ok ? "success" : "failure",
            output: found.output,
            code: found.statusCode,
          }),
        );
        const next = clock.monotonic() + intervalMs;
        if (watch !== undefined) await this.#restartWhenDue(c, watch, { ok: found.ok, before: next, signal });
        await sleep(Math.max(0, next - clock.monotonic()), { clock, signal });
      }
    } catch (reason) {
      if (!signal.aborted) this.#o.logger.error({ err: reason, check: c.name }, "a service check ended");
    }
  }

  /** Restarts the check's task if its time comes before the next result. */
  async #restartWhenDue(
    c: PlannedCheck,
    watch: CheckRestartWatch,
    o: { readonly ok: boolean; readonly before: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { clock, logger, runningSince } = this.#o;
    const task = c.restarts as string;
    const since = runningSince(task);
    const due = watch.observe(o.ok, since, clock.monotonic());
    if (due === undefined || due > o.before) return;
    await sleep(due - clock.monotonic(), { clock, signal: o.signal });
    // One restart per life, however many checks fail and however long the task takes to end.
    if (runningSince(task) !== since || this.#restarted.get(task) === since) return;
    this.#restarted.set(task, since);
    logger.info({ check: c.name, task }, "a failing check restarts its task");
    // Not awaited: a task that takes long to end must not hold up its checks.
    this.#o.restart(task, `healthcheck: check ${JSON.stringify(c.name)} unhealthy`).catch((err: unknown) => {
      logger.debug({ err, task }, "the task of a failing check does not run");
    });
  }

  #keep(id: string, result: CheckResult): void {
    const before = this.#results.get(id);
    this.#results.set(id, result);
    if (before?.Status !== result.Status) for (const listener of this.#listeners) listener();
  }
}
