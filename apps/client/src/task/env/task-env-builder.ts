import type { HookEnv } from "@outrider/alloc-runner";
import type { Allocation, AllocNetworkStatus, Node, Task } from "@outrider/nomad-structs";
import type { DriverNetwork } from "@outrider/plugin-driver";
import { builtinEnv, metaEnv, type TaskPaths } from "./builtin-env.ts";
import { cleanEnv } from "./env-names.ts";
import { interpolate } from "./interpolate.ts";
import { nodeMap } from "./node-map.ts";
import { groupPortEnv, siblingPortEnv, taskPortEnv } from "./port-env.ts";
import { TaskEnv } from "./task-env.ts";

export interface TaskEnvBuilderOptions {
  readonly alloc: Allocation;
  /** Undefined: the environment of the whole allocation, for its hooks. */
  readonly task?: Task | undefined;
  readonly node: () => Node;
  readonly region: string;
  /** The agent's own variables, already without those on the deny list. Empty for drivers that bring an image. */
  readonly host?: Readonly<Record<string, string>>;
}

/** Collects what makes up an environment; `build` puts it together anew each time (client-runtime.md 4.10). */
export class TaskEnvBuilder {
  readonly #o: TaskEnvBuilderOptions;
  readonly #hooks = new Map<string, Readonly<Record<string, string>>>();
  #alloc: Allocation;
  #task: Task | undefined;
  #host: Readonly<Record<string, string>>;
  #taskPaths: TaskPaths | undefined;
  #clientPaths: TaskPaths | undefined;
  #driverNetwork: DriverNetwork | undefined;
  #networkStatus: AllocNetworkStatus | null = null;
  #template: Readonly<Record<string, string>> = {};
  #device: Readonly<Record<string, string>> = {};
  #built: TaskEnv | undefined;

  constructor(options: TaskEnvBuilderOptions) {
    this.#o = options;
    this.#alloc = options.alloc;
    this.#task = options.task;
    this.#host = options.host ?? {};
  }

  update(alloc: Allocation, task: Task | undefined): void {
    if (alloc === this.#alloc && task === this.#task) return;
    this.#alloc = alloc;
    this.#task = task;
    this.#built = undefined;
  }

  setPaths(inTask: TaskPaths, onHost: TaskPaths): void {
    this.#taskPaths = inTask;
    this.#clientPaths = onHost;
    this.#built = undefined;
  }

  setHost(host: Readonly<Record<string, string>>): void {
    this.#host = host;
    this.#built = undefined;
  }

  setHook(hook: string, env: Readonly<Record<string, string>>): void {
    const before = hook === "devices" ? this.#device : hook === "template" ? this.#template : this.#hooks.get(hook);
    // The order of hooks is the order of their first words, also empty ones.
    if (before === undefined && hook !== "devices" && hook !== "template") this.#hooks.set(hook, env);
    if (sameEnv(before ?? {}, env)) return;
    if (hook === "devices") this.#device = env;
    else if (hook === "template") this.#template = env;
    else this.#hooks.set(hook, env);
    this.#built = undefined;
  }

  setDriverNetwork(network: DriverNetwork | undefined): void {
    if (network === this.#driverNetwork) return;
    this.#driverNetwork = network;
    this.#built = undefined;
  }

  setNetworkStatus(status: AllocNetworkStatus | null): void {
    if (status === this.#networkStatus) return;
    this.#networkStatus = status;
    this.#built = undefined;
  }

  build(): TaskEnv {
    this.#built ??= this.#make();
    return this.#built;
  }

  /** What hooks get: put together when one of them looks, for most do not. */
  view(): HookEnv {
    let env: TaskEnv | undefined;
    const now = (): TaskEnv => (env ??= this.build());
    return Object.freeze({
      get all(): Readonly<Record<string, string>> {
        return now().all;
      },
      replace: (text: string) => now().replace(text),
    });
  }

  #make(): TaskEnv {
    const node = this.#o.node();
    const nodeVars = nodeMap(node, this.#o.region);
    const common = this.#common(node);
    const all = this.#layered(common, this.#taskPaths, nodeVars);
    const clientPaths = this.#clientPaths ?? this.#taskPaths;
    const client = samePaths(clientPaths, this.#taskPaths) ? all : this.#layered(common, clientPaths, nodeVars);
    return new TaskEnv({ all, client, device: { ...this.#device }, node: nodeVars });
  }

  #common(node: Node): Record<string, string> {
    const { AllocatedResources: granted, Job } = this.#alloc;
    const group = Job?.TaskGroups?.find((g) => g.Name === this.#alloc.TaskGroup);
    const name = this.#task?.Name;
    const env = {
      ...builtinEnv(this.#alloc, this.#task, this.#o.region, node),
      ...metaEnv(this.#alloc, group, this.#task),
    };
    for (const [other, resources] of Object.entries(granted?.Tasks ?? {})) {
      const networks = resources.Networks ?? [];
      if (other === name) Object.assign(env, taskPortEnv(networks, this.#driverNetwork?.portMap));
      else if (name !== undefined) Object.assign(env, siblingPortEnv(other, networks));
    }
    return Object.assign(env, groupPortEnv(granted?.Shared.Ports ?? [], this.#networkStatus));
  }

  /** Low to high: built-ins and meta, the agent's variables for names still free, the task's, hooks in order, templates. */
  #layered(
    common: Record<string, string>,
    paths: TaskPaths | undefined,
    nodeVars: Readonly<Record<string, string>>,
  ): Record<string, string> {
    const builtIn: Record<string, string> = { ...common };
    if (paths !== undefined) {
      builtIn["NOMAD_ALLOC_DIR"] = paths.allocDir;
      builtIn["NOMAD_TASK_DIR"] = paths.localDir;
      builtIn["NOMAD_SECRETS_DIR"] = paths.secretsDir;
    }
    const sources = [builtIn, this.#host, nodeVars];
    const known = (name: string): string | undefined => sources.find((s) => Object.hasOwn(s, name))?.[name];
    const own: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.#task?.Env ?? {})) {
      own[interpolate(name, known)] = interpolate(value, known);
    }
    const env = { ...cleanHost(this.#host) };
    for (const layer of [builtIn, own, ...this.#hooks.values(), this.#template]) Object.assign(env, cleanEnv(layer));
    return env;
  }
}

const cleanHosts = new WeakMap<object, Record<string, string>>();

/** The agent's variables are the same ones for every task. */
function cleanHost(host: Readonly<Record<string, string>>): Record<string, string> {
  let clean = cleanHosts.get(host);
  if (clean === undefined) cleanHosts.set(host, (clean = cleanEnv(host)));
  return clean;
}

function samePaths(a: TaskPaths | undefined, b: TaskPaths | undefined): boolean {
  return a?.allocDir === b?.allocDir && a?.localDir === b?.localDir && a?.secretsDir === b?.secretsDir;
}

function sameEnv(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
