import type { AllocRunnerFactory, HookEnv } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { OutriderError, type Logger } from "@outrider/foundation";
import { createHookResources } from "@outrider/hook-resources";
import type { Allocation, Task, TaskState } from "@outrider/nomad-structs";
import { isPluginShutdown } from "@outrider/plugin-driver";
import type { DriverInstance } from "../driver/driver-manager.ts";
import { copyPlain } from "../copy-plain.ts";
import { livingDriver } from "../task/driver/living-driver.ts";
import { pathsInTask } from "../task/env/builtin-env.ts";
import { HOST_ENV_DENYLIST } from "../task/env/env-names.ts";
import { TaskEnvBuilder } from "../task/env/task-env-builder.ts";
import { taskStatsHook } from "../task/hooks/stats-hook.ts";
import type { ClientAllocRunnerConfig } from "../task/ports.ts";
import { taskHooks } from "../task/task-hooks.ts";
import type { DriverFacts } from "../task/task-context.ts";
import { findGroup, lifecycleOf } from "../task/task-lookup.ts";
import { pendingTaskState, TaskRecord } from "../task/task-record.ts";
import { TaskRunner } from "../task/task-runner.ts";
import { AllocHookRunner } from "./alloc-hook-runner.ts";
import type { AllocResourcesShape } from "./alloc-hook-context.ts";
import { allocHooks } from "./alloc-hooks.ts";
import { neverStarted } from "./alloc-tasks.ts";
import type { RunnerTask } from "./alloc-requests.ts";
import { checksOfTasks } from "./checks/checks-of-tasks.ts";
import { AllocServices } from "./services/alloc-services.ts";
import { ClientAllocRunner } from "./alloc-runner.ts";
import { Coordinator, stageOf } from "./coordinator.ts";
import { allocKeys } from "./state-keys.ts";

/**
 * Builds the client's runner of one allocation; the same way for new and for restored ones. Rejects, so that the allocation is invalid, when
 * its group or the resources of a task are missing, a name is no plain path segment, or a driver is unknown.
 */
export const createAllocRunner: AllocRunnerFactory<ClientAllocRunnerConfig, AllocDir> = async (config) => {
  const { alloc } = config;
  const logger = config.logger.child({ allocId: alloc.ID });
  const tasks = tasksOf(alloc);
  const allocDir = config.newAllocDir(alloc);
  const coordinator = new Coordinator(new Map(tasks.map((task) => [task.Name, stageOf(lifecycleOf(task))])));
  const skipShutdownDelay = new AbortController();
  const resources = createHookResources<AllocResourcesShape>({
    csiMounts: {},
    consulTokens: {},
    consulCheckIds: {},
    networkStatus: null,
  });
  const living: RunnerTask[] = [];
  const checks = checksOfTasks({ clock: config.clock, logger, tasks: () => living.map((t) => t.runner) });
  const services = makeServices(config, () => runner.alloc(), logger);
  const runner = new ClientAllocRunner({ config, logger, allocDir, coordinator, skipShutdownDelay, checks });
  const runners = await Promise.all(
    tasks.map((task) => makeTask(config, task, { logger, allocDir, coordinator, skipShutdownDelay, runner, services })),
  );
  living.push(...runners);
  const env = new TaskEnvBuilder({ alloc, node: config.node, region: config.region });
  const hooks = allocHooks({
    config,
    allocDir,
    resources,
    alloc: () => runner.alloc(),
    listener: () => runner.listener(),
    deployment: () => runner.reporter.deployment,
    setHealth: (healthy, events) => runner.setHealth(healthy, events),
    checks,
    services,
    tellLiving: (event) => runner.tellLiving(event),
    hasStarted: () => !living.every((t) => neverStarted(t.runner)),
    skipShutdownDelay: skipShutdownDelay.signal,
    onMaxRunExceeded: () => runner.onMaxRunExceeded(),
  });
  resources.onChange("networkStatus", (status) => runner.setNetworkStatus(copyPlain(status) as never));
  const hookEnv = (): HookEnv => {
    env.update(runner.alloc(), undefined);
    return env.view();
  };
  runner.attach(runners, new AllocHookRunner({ hooks, logger, env: hookEnv, telemetry: config.telemetry }));
  return runner;
};

function tasksOf(alloc: Allocation): readonly Task[] {
  const group = findGroup(alloc);
  if (group === undefined) {
    const text = `failed to lookup task group ${JSON.stringify(alloc.TaskGroup)}`;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_INVALID", text, { details: { group: alloc.TaskGroup } });
  }
  const tasks = group.Tasks ?? [];
  for (const task of tasks) {
    if (alloc.AllocatedResources?.Tasks?.[task.Name] !== undefined) continue;
    throw new OutriderError("ERR_OUTRIDER_ALLOC_INVALID", "no task resources found on allocation", {
      details: { task: task.Name },
    });
  }
  return tasks;
}

interface TaskSurroundings {
  readonly logger: Logger;
  readonly allocDir: AllocDir;
  readonly coordinator: Coordinator;
  readonly skipShutdownDelay: AbortController;
  readonly runner: ClientAllocRunner;
  readonly services: AllocServices | undefined;
}

function makeServices(
  config: ClientAllocRunnerConfig,
  alloc: () => Allocation,
  logger: Logger,
): AllocServices | undefined {
  const { services: registrar, clock, node } = config;
  return registrar === undefined
    ? undefined
    : new AllocServices({ registrar, alloc, datacenter: () => node().Datacenter, clock, logger });
}

async function makeTask(config: ClientAllocRunnerConfig, task: Task, around: TaskSurroundings): Promise<RunnerTask> {
  const { alloc, clock } = config;
  const { allocDir, coordinator, runner } = around;
  const logger = around.logger.child({ task: task.Name });
  const secretsMB = task.Resources?.SecretsMB ?? 0;
  const taskDir = allocDir.newTaskDir({ name: task.Name, secretsMB });
  // A restored allocation must not be given up because its driver is late: its tasks may be running.
  if (config.serversContacted === undefined) await readyDriver(config, task.Driver);
  const host = { allocDir: taskDir.sharedAllocDir, localDir: taskDir.localDir, secretsDir: taskDir.secretsDir };
  const env = new TaskEnvBuilder({
    alloc,
    task,
    node: config.node,
    region: config.region,
  });
  const record = new TaskRecord({
    clock,
    logger,
    persist: config.state,
    keys: allocKeys(alloc.ID).task(task.Name),
    initial: initialState(alloc.TaskStates?.[task.Name]),
    onPhase: (to, state) => countPhase(config, task.Name, to, state),
    onChange: () => runner.onTaskChange(),
    onDurable: () => runner.reporter.reportSoon(),
  });
  const { intervalMs, collect = true } = config.stats;
  const stats = taskStatsHook({ intervalMs, collect, clock, logger });
  const parts = {
    config,
    alloc,
    task,
    record,
    taskDir,
    env,
    logger,
    driverFacts: async (signal: AbortSignal) => {
      const facts = await livingFacts(config, task.Driver, signal);
      const { fsIsolation } = facts.capabilities;
      env.setHost(fsIsolation === "image" ? {} : inheritedEnv(config));
      env.setPaths(pathsInTask(fsIsolation, host, undefined), host);
      return facts;
    },
    gate: (signal: AbortSignal) => coordinator.wait(task.Name, signal),
    skipShutdownDelay: around.skipShutdownDelay.signal,
    services: around.services,
    networkDns: () => runner.reporter.network?.DNS ?? null,
  };
  return { runner: new TaskRunner(parts, (context) => taskHooks(context, stats)), latestStats: () => stats.latest() };
}

/** How long an allocation waits for its driver to come up before it counts as invalid. */
const DRIVER_READY_MS = 60_000;

async function readyDriver(config: ClientAllocRunnerConfig, driver: string): Promise<void> {
  const cancel = new AbortController();
  const late = config.clock.setTimeout(() => {
    const text = `driver ${JSON.stringify(driver)} did not come up within ${DRIVER_READY_MS / 1000} s`;
    cancel.abort(new OutriderError("ERR_OUTRIDER_ALLOC_DRIVER", text, { recoverable: true, details: { driver } }));
  }, DRIVER_READY_MS);
  try {
    await livingFacts(config, driver, cancel.signal);
  } finally {
    config.clock.clearTimeout(late);
  }
}

/** One pair of calls per driver process, not per task. */
const FACTS = new WeakMap<DriverInstance, Promise<DriverFacts>>();

function factsOf(instance: DriverInstance): Promise<DriverFacts> {
  let facts = FACTS.get(instance);
  if (facts === undefined) {
    facts = Promise.all([instance.plugin.taskConfigSchema(), instance.plugin.capabilities()]).then(
      ([schema, capabilities]) => ({ schema, capabilities }),
    );
    facts.catch(() => FACTS.delete(instance));
    FACTS.set(instance, facts);
  }
  return facts;
}

/** Of whatever process of the driver lives long enough to answer. */
async function livingFacts(config: ClientAllocRunnerConfig, driver: string, signal: AbortSignal): Promise<DriverFacts> {
  const { drivers, clock } = config;
  for (let newerThan = 0; ;) {
    const instance = await livingDriver(drivers, driver, { signal, clock, newerThan });
    try {
      return await factsOf(instance);
    } catch (reason) {
      signal.throwIfAborted();
      if (!isPluginShutdown(reason)) throw reason;
      newerThan = instance.generation;
    }
  }
}

/** What the server knows of a task is its history; nothing of it runs here yet. */
function initialState(known: TaskState | undefined): TaskState | undefined {
  if (known === undefined) return undefined;
  return { ...pendingTaskState(), ...known, State: known.State === "dead" ? "dead" : "pending" };
}

/** What tasks inherit of an environment: the same for all of them. */
const INHERITED = new WeakMap<
  object,
  { readonly denylist: readonly string[]; readonly env: Readonly<Record<string, string>> }
>();

function inheritedEnv(config: ClientAllocRunnerConfig): Readonly<Record<string, string>> {
  const { hostEnv = NO_ENV, hostEnvDenylist: denylist = HOST_ENV_DENYLIST } = config;
  const known = INHERITED.get(hostEnv);
  if (known?.denylist === denylist) return known.env;
  const denied = new Set(denylist);
  const env = Object.fromEntries(Object.entries(hostEnv).filter(([name]) => !denied.has(name)));
  INHERITED.set(hostEnv, { denylist, env });
  return env;
}

const NO_ENV: Readonly<Record<string, string>> = {};

function countPhase(config: ClientAllocRunnerConfig, task: string, to: string, state: TaskState): void {
  const { counters } = config;
  if (counters === undefined) return;
  if (to === "running") counters.count("running", task);
  else if (to === "dead") counters.count(state.Failed ? "failed" : "complete", task);
  else if (to === "restarting") counters.count("restart", task);
}
