import type { AllocHook, AllocUpdate, BroadcastListener, TaskEventInput } from "@outrider/alloc-runner";
import { sleep, type Clock } from "@outrider/backoff";
import { formatDuration, isServerTerminal, nsToMs, TASK_EVENT, type Allocation } from "@outrider/nomad-structs";
import { childSignal, type ChildSignal } from "../../child-signal.ts";
import { findGroup } from "../../task/task-lookup.ts";
import type { AllocHookContext } from "../alloc-hook-context.ts";
import { stageOf } from "../coordinator.ts";
import { taskHealth, unhealthyReason, type TrackedTask } from "../health-tracker.ts";

const DEFAULT_MIN_HEALTHY_NS = 10e9;
const DEFAULT_DEADLINE_NS = 300e9;

interface HealthRules {
  readonly minHealthyNs: number;
  readonly deadlineNs: number;
  /** Whether the service checks must pass too. */
  readonly useChecks: boolean;
}

/** Decides whether an allocation of a service or system job is healthy, within its deadline (client-runtime.md 5.2). */
export function allocHealthWatcherHook(c: AllocHookContext): AllocHook {
  let watching: { readonly cancel: AbortController; readonly done: Promise<void> } | undefined;
  // Also of an allocation that was judged before a restart of the agent, so that nothing is watched.
  let judgedFor: string | undefined;
  const stop = async (): Promise<void> => {
    watching?.cancel.abort();
    await watching?.done;
    watching = undefined;
  };
  const start = (alloc: Allocation): void => {
    const rules = rulesOf(alloc);
    if (rules === undefined || isJudged(c)) return;
    const cancel = new AbortController();
    const done = watch(c, alloc, rules, cancel.signal).catch((err: unknown) => {
      if (!cancel.signal.aborted) c.config.logger.error({ err }, "health watcher failed");
    });
    watching = { cancel, done };
  };
  return {
    name: "alloc_health_watcher",
    prerun() {
      judgedFor = c.alloc().DeploymentID;
      start(c.alloc());
    },
    async update({ alloc }) {
      await stop();
      const before = judgedFor;
      judgedFor = alloc.DeploymentID;
      if (before !== undefined && before !== alloc.DeploymentID && c.deployment() !== null)
        await c.setHealth(null, new Map());
      start(alloc);
    },
    async postrun() {
      await stop();
      await judgeEnd(c);
    },
    shutdown: stop,
  };
}

function isJudged(c: AllocHookContext): boolean {
  const health = c.deployment()?.Healthy;
  return health === true || health === false;
}

function rulesOf(alloc: Allocation): HealthRules | undefined {
  const type = alloc.Job?.Type;
  if (type !== "service" && type !== "system") return undefined;
  const group = findGroup(alloc);
  const inDeployment = alloc.DeploymentID !== "";
  if (inDeployment && (group?.Update?.HealthCheck ?? "manual") === "manual") return undefined;
  const block = inDeployment ? group?.Update : group?.Migrate;
  return {
    minHealthyNs: block?.MinHealthyTime || DEFAULT_MIN_HEALTHY_NS,
    deadlineNs: block?.HealthyDeadline || DEFAULT_DEADLINE_NS,
    useChecks: block?.HealthCheck !== "task_states",
  };
}

async function watch(c: AllocHookContext, alloc: Allocation, rules: HealthRules, signal: AbortSignal): Promise<void> {
  const { clock } = c.config;
  const tasks = trackedTasks(alloc);
  using waits = new Waits(c, rules.useChecks, signal);
  const deadline = new Countdown(clock, nsToMs(rules.deadlineNs));
  let update: AllocUpdate | undefined;
  let steady = { sinceMs: -1, seenAt: 0 };
  for (;;) {
    signal.throwIfAborted();
    const health = taskHealth(tasks, update?.TaskStates ?? {});
    const stopped = isServerTerminal(c.alloc().DesiredStatus);
    if (health.kind === "unhealthy" || update?.ClientStatus === "failed") {
      return setUnhealthy(c, tasks, update, rules, { deadlinePassed: false, stopped });
    }
    // A pause that was asked for is no failure, where the operator says so.
    const checksPass = !rules.useChecks || c.checks.health().passing;
    if (health.kind !== "running" || !checksPass) steady = { sinceMs: -1, seenAt: 0 };
    deadline.hold(health.kind === "waiting" && health.paused && c.config.pausedIsHealthy === true);
    const left = deadline.leftMs();
    if (left <= 0) return setUnhealthy(c, tasks, update, rules, { deadlinePassed: true, stopped });
    let wait = left;
    if (health.kind === "running" && checksPass) {
      // Counted from when it was seen: what ran while the agent was away was not watched.
      if (health.sinceMs !== steady.sinceMs) steady = { sinceMs: health.sinceMs, seenAt: clock.monotonic() };
      const healthyIn = steady.seenAt + nsToMs(rules.minHealthyNs) - clock.monotonic();
      if (healthyIn <= 0) return c.setHealth(true, new Map());
      wait = Math.min(left, healthyIn);
    }
    const next = await waits.next(deadline.held ? undefined : clock.monotonic() + wait);
    if (next === undefined) return;
    if (next !== "look") update = next;
  }
}

/** Times that differ by less are the same one, worked out twice. */
const SAME_MS = 0.5;

interface News {
  readonly update: AllocUpdate | undefined;
}

/** What a watch waits for; whatever has not come yet is waited for in the next round, too. */
class Waits implements Disposable {
  readonly #c: AllocHookContext;
  readonly #listener: BroadcastListener<AllocUpdate>;
  readonly #useChecks: boolean;
  readonly #life: ChildSignal;
  #news: Promise<News> | undefined;
  #checks: Promise<"look"> | undefined;
  #timer: { readonly atMs: number; readonly due: Promise<"look">; readonly life: ChildSignal } | undefined;

  constructor(c: AllocHookContext, useChecks: boolean, signal: AbortSignal) {
    this.#c = c;
    this.#listener = c.listener();
    this.#useChecks = useChecks;
    this.#life = childSignal(signal);
  }

  /** An update, undefined when there are no more, or "look" when a check has changed or the time has come. */
  async next(atMs: number | undefined): Promise<AllocUpdate | "look" | undefined> {
    const received = (): Promise<News> =>
      this.#listener.receive({ signal: this.#life.signal }).then((update) => ({ update }));
    this.#news ??= quiet(received());
    const waits: Array<Promise<News | "look">> = [this.#news];
    if (this.#useChecks) {
      this.#checks ??= checksChange(this.#c.checks, this.#life.signal).finally(() => (this.#checks = undefined));
      waits.push(this.#checks);
    }
    this.#setTimer(atMs);
    if (this.#timer !== undefined) waits.push(this.#timer.due);
    const next = await Promise.race(waits);
    if (next === "look") return next;
    // Only what was taken: an update may come together with something else.
    this.#news = undefined;
    return next.update;
  }

  #setTimer(atMs: number | undefined): void {
    const { clock } = this.#c.config;
    if (atMs !== undefined && this.#timer !== undefined && Math.abs(this.#timer.atMs - atMs) < SAME_MS) return;
    this.#timer?.life.end();
    this.#timer = undefined;
    if (atMs === undefined) return;
    const life = childSignal(this.#life.signal);
    const slept = sleep(atMs - clock.monotonic(), { clock, signal: life.signal, ref: false });
    const due = quiet(
      slept.then(() => {
        if (this.#timer?.life === life) this.#timer = undefined;
        return "look" as const;
      }),
    );
    this.#timer = { atMs, due, life };
  }

  [Symbol.dispose](): void {
    this.#life.end();
    this.#listener[Symbol.dispose]();
  }
}

/** Its failure is told to those who wait for it. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Resolves at the next change of a check's status, or with the signal. */
function checksChange(checks: AllocHookContext["checks"], signal: AbortSignal): Promise<"look"> {
  if (signal.aborted) return Promise.resolve("look");
  return new Promise((resolve) => {
    const done = (): void => {
      listening[Symbol.dispose]();
      signal.removeEventListener("abort", done);
      resolve("look");
    };
    const listening = checks.onChange(done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** All tasks have ended: an allocation that was not judged before did not become healthy. */
async function judgeEnd(c: AllocHookContext): Promise<void> {
  const rules = rulesOf(c.alloc());
  if (rules === undefined || isJudged(c)) return;
  using listener = c.listener();
  const update = await listener.receive();
  const tasks = trackedTasks(c.alloc());
  if (update === undefined || taskHealth(tasks, update.TaskStates ?? {}).kind !== "unhealthy") return;
  const stopped = isServerTerminal(c.alloc().DesiredStatus);
  await setUnhealthy(c, tasks, update, rules, { deadlinePassed: false, stopped });
}

async function setUnhealthy(
  c: AllocHookContext,
  tasks: readonly TrackedTask[],
  update: AllocUpdate | undefined,
  rules: HealthRules,
  o: { readonly deadlinePassed: boolean; readonly stopped: boolean },
): Promise<void> {
  const events = new Map<string, TaskEventInput>();
  if (c.alloc().DeploymentID !== "" && !o.stopped) {
    for (const task of tasks) {
      const message = unhealthyReason(task, update?.TaskStates?.[task.name], {
        deadlinePassed: o.deadlinePassed,
        minHealthyTime: formatDuration(rules.minHealthyNs),
        healthyDeadline: formatDuration(rules.deadlineNs),
      });
      if (message !== undefined) events.set(task.name, { type: TASK_EVENT.allocUnhealthy, facts: { message } });
    }
  }
  await c.setHealth(false, events);
}

function trackedTasks(alloc: Allocation): TrackedTask[] {
  return (findGroup(alloc)?.Tasks ?? []).map((task) => ({
    name: task.Name,
    stage: stageOf(
      task.Lifecycle === null ? undefined : { hook: task.Lifecycle.Hook, sidecar: task.Lifecycle.Sidecar },
    ),
  }));
}

/** A span of time that can be held. */
class Countdown {
  readonly #clock: Clock;
  #leftMs: number;
  #since: number;
  held = false;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#since = clock.monotonic();
  }

  hold(held: boolean): void {
    this.#leftMs = this.leftMs();
    this.#since = this.#clock.monotonic();
    this.held = held;
  }

  leftMs(): number {
    return this.held ? this.#leftMs : this.#leftMs - (this.#clock.monotonic() - this.#since);
  }
}
