import { sweepDestroyed } from "@outrider/allocdir-interface/local";
import { isMigrateToken } from "@outrider/allocdir-interface/migrate";
import type { AllocDir } from "@outrider/allocdir-interface";
import type { AllocRunnerConfig } from "@outrider/alloc-runner";
import { systemClock, type Clock } from "@outrider/backoff";
import { DisposeStack, noopLogger, type Logger } from "@outrider/foundation";
import { createHookTelemetry } from "@outrider/hook-telemetry";
import { encodeConfig } from "@outrider/plugin-driver/host";
import { createAllocRunner, newAllocDir } from "../alloc/index.ts";
import { StartTurns } from "../alloc/start-turns.ts";
import { createDriverManager, type ClientDrivers } from "../driver/create-driver-manager.ts";
import { defaultDriverCommand } from "../driver/driver-command.ts";
import type { DriverCommand } from "../driver/driver-process.ts";
import {
  allResources,
  createHttpServer,
  FairTurns,
  DEFAULT_WAITING_LIMITS,
  WaitingQueries,
  type ApiContext,
} from "../http/index.ts";
import { formatDiagnostics, noFiles, parseJobFile } from "../jobspec/index.ts";
import { MetricsRegistry, nodeLabels, setAllocGauges, setNodeGauges, taskLabels } from "../metrics/index.ts";
import {
  createNodeClient,
  fingerprintNode,
  loadNodeIdentity,
  type BuildRunner,
  type NodeClient,
} from "../node/index.ts";
import { createNativeMounter } from "../node/native-mounter.ts";
import { createEmbeddedServer } from "../server/index.ts";
import { openJournalStore } from "../state/index.ts";
import { createConfigEncoder } from "../task/driver/config-encoder.ts";
import { RunningAgent, type Agent } from "./agent.ts";
import { isLoopback, type AgentConfig } from "./agent-config.ts";
import { openDataDir } from "./data-dir.ts";
import { createJobRules } from "./job-rules.ts";

/** Parts that tests and embedders may replace. */
export interface AgentDeps {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** How to run the driver process. Default: this package's own program. */
  readonly driverCommand?: DriverCommand;
  /** Default: the built-in driver and its process. */
  readonly drivers?: ClientDrivers;
  /** Default: real tasks. */
  readonly buildRunner?: BuildRunner;
  readonly version?: string;
  /** Environment that tasks may inherit. Default: the agent's own. */
  readonly hostEnv?: Readonly<Record<string, string | undefined>>;
}

/**
 * Builds an agent with embedded server. Takes the lock of the data folder and reads the state; nothing listens or runs before
 * `start()`. Everything is released again when it rejects.
 */
export async function buildAgent(config: AgentConfig, deps: AgentDeps = {}): Promise<Agent> {
  const stack = new DisposeStack();
  try {
    return await build(config, deps, stack);
  } catch (reason) {
    await stack[Symbol.asyncDispose]().catch(() => undefined);
    throw reason;
  }
}

async function build(config: AgentConfig, deps: AgentDeps, stack: DisposeStack): Promise<Agent> {
  const clock = deps.clock ?? systemClock;
  const logger = deps.logger ?? noopLogger;
  const random = deps.random ?? cryptoRandom;
  const version = deps.version ?? "0.0.0";

  const dir = stack.use(await openDataDir(config.dataDir));
  const serverStore = stack.use(await openJournalStore({ dir: dir.server, logger }));
  const clientStore = stack.use(await openJournalStore({ dir: dir.client, logger }));
  const identity = await loadNodeIdentity(dir.client);
  const metrics = new MetricsRegistry({ clock, host: config.nodeName });
  const drivers = stack.use(
    deps.drivers ??
      createDriverManager({
        dataDir: dir.root,
        logger,
        clock,
        random,
        driverCommand: deps.driverCommand ?? defaultDriverCommand(),
        build: version,
        pluginDir: config.pluginDir,
        plugins: config.plugins,
      }),
  );
  const server = createEmbeddedServer({
    store: serverStore,
    clock,
    logger,
    random,
    rules: createJobRules({ drivers: () => drivers.names, region: config.region }),
  });
  const mounter = createNativeMounter(logger);
  const turns = new FairTurns(clock);
  const waiting = new WaitingQueries({
    limits: DEFAULT_WAITING_LIMITS,
    feed: server.state.feed,
    clock,
    random,
    turns,
  });

  let node: NodeClient | undefined;
  const context: ApiContext = {
    server,
    waiting,
    metrics,
    prometheus: config.prometheus,
    clock,
    node: () => node,
    handlers: () => server.link.handlers(identity.id),
    agent: () => ({
      name: config.nodeName,
      region: config.region,
      datacenter: config.datacenter,
      version,
      httpAddress: shortAddress(http.address),
      httpPort: http.port,
      serverId: identity.id,
      startedMs,
      dataDir: config.dataDir,
    }),
    parseHcl,
  };
  const startedMs = clock.now();
  const http = createHttpServer({
    bind: config.bind.http,
    guard: {
      allowedHosts: config.allowedHosts,
      token: config.token,
      isDiskToken: (allocId, token) => isMigrateToken(token, allocId, identity.secretId),
    },
    region: config.region,
    resources: allResources(context),
    waiting,
    turns,
    logger,
  });

  // Every allocation asks: made once.
  const hostEnv = textEnv(deps.hostEnv ?? process.env);

  const startNode = async (): Promise<NodeClient> => {
    // What was being deleted, or unpacked, when the last agent ended.
    await sweepDestroyed(dir.alloc);
    const { clientOptions: options } = config;
    const loopback = "unixSocket" in config.bind.http || isLoopback(config.bind.http.host);
    const fingerprint = await fingerprintNode(identity, {
      name: config.nodeName,
      datacenter: config.datacenter,
      nodeClass: options.nodeClass,
      nodePool: options.nodePool,
      meta: options.meta,
      httpAddress: shortAddress(http.address),
      allocRoot: dir.alloc,
      outriderVersion: version,
      // Who keeps the API on this machine does not expect the ports of jobs to be offered elsewhere.
      ...(loopback ? { networkAddress: "127.0.0.1" } : {}),
      ...defined({
        cpuTotalCompute: options.cpuTotalCompute,
        memoryTotalMB: options.memoryTotalMB,
        minDynamicPort: options.minDynamicPort,
        maxDynamicPort: options.maxDynamicPort,
      }),
    });
    const labels = nodeLabels(fingerprint);
    const telemetry = onePerName((namespace) =>
      createHookTelemetry({
        sink: metrics,
        labels: () => ({ ...labels, namespace }),
        disabled: !options.hookMetrics,
      }),
    );
    const client = createNodeClient({
      node: fingerprint,
      link: server.link,
      state: clientStore,
      buildRunner: deps.buildRunner ?? ((base) => createAllocRunner(runnerConfig(base))),
      drivers,
      clock,
      logger,
      random,
      allocRoot: dir.alloc,
      gc: options.gc,
      telemetry: telemetry as never,
      onRemoved: (allocId) => metrics.remove({ alloc_id: allocId }),
    });
    node = client;
    metrics.onCollect((sink) => {
      setNodeGauges(sink, client.node, client.counts(), server.state.tables.allocs.by("node", identity.id));
      if (options.publishAllocationMetrics) setAllocGauges(sink, client.registry.values());
    });
    await client.start();
    return client;
  };

  const encodeDriverConfig = createConfigEncoder((schema, block, variables) =>
    encodeConfig(schema, block, { variables }),
  );
  const startTurns = new StartTurns(clock);
  const runnerConfig = (base: AllocRunnerConfig<AllocDir>): Parameters<typeof createAllocRunner>[0] => ({
    ...base,
    drivers,
    encodeDriverConfig,
    startTurns,
    logCollector: drivers.logCollector,
    newAllocDir: (alloc) =>
      newAllocDir(alloc, { root: dir.alloc, letPass: () => dir.letPass(), logger, clock, mounter }),
    node: () => (node as NodeClient).node,
    region: config.region,
    variables: server.variables,
    services: server.services,
    hostEnv,
    limits: { maxKillTimeoutMs: config.clientOptions.maxKillTimeoutMs },
    stats: {
      publish: config.clientOptions.publishAllocationMetrics,
      intervalMs: config.clientOptions.collectionIntervalMs,
    },
    counters: {
      count: (what, task) => metrics.incrCounter(`nomad.client.allocs.${what}`, 1, taskLabels(base.alloc, task)),
    },
  });

  return new RunningAgent({ logger, stack, http, server, nodeId: identity.id, startNode });
}

function parseHcl(source: string): unknown {
  const { job, diagnostics } = parseJobFile(source, { filename: "input.hcl", files: noFiles });
  if (job === undefined) throw new Error(formatDiagnostics(diagnostics));
  return job;
}

function shortAddress(address: string): string {
  return address.replace(/^https?:\/\//, "");
}

function textEnv(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Most things that are kept by name. */
const MAX_NAMES = 256;

/** Makes what belongs to a name once, and anew only after very many other names. */
function onePerName<T>(make: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    let one = known.get(name);
    if (one === undefined) {
      if (known.size >= MAX_NAMES) known.clear();
      one = make(name);
      known.set(name, one);
    }
    return one;
  };
}

function defined<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** Uniform in [0, 1) from the system's generator. */
function cryptoRandom(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;
}
