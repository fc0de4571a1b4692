import type { HookEnv } from "@outrider/alloc-runner";
import { interpolate } from "./interpolate.ts";

/** A task's environment at one moment: frozen, so no reader can change another's (hashicorp/nomad#25269). */
export class TaskEnv {
  /** As the task sees it. */
  readonly all: Readonly<Record<string, string>>;
  /** As the agent sees it: folders are host paths. */
  readonly client: Readonly<Record<string, string>>;
  /** Of device hooks; some drivers pass it on their own way. */
  readonly device: Readonly<Record<string, string>>;
  /** `node.…`, `attr.…`, `meta.…`. */
  readonly node: Readonly<Record<string, string>>;

  constructor(parts: {
    readonly all: Record<string, string>;
    readonly client: Record<string, string>;
    readonly device: Record<string, string>;
    /** Taken as it is when frozen: all tasks share the facts of their node. */
    readonly node: Readonly<Record<string, string>>;
  }) {
    this.all = Object.freeze({ ...parts.all });
    this.client = parts.client === parts.all ? this.all : Object.freeze({ ...parts.client });
    this.device = Object.freeze({ ...parts.device });
    this.node = Object.isFrozen(parts.node) ? parts.node : Object.freeze({ ...parts.node });
  }

  /** Replaces what is known; paths are the task's. */
  replace(text: string): string {
    return interpolate(text, (name) => lookup(this.all, name) ?? lookup(this.node, name));
  }

  /** Replaces what is known; paths are the host's. For files that the agent itself touches. */
  replaceForClient(text: string): string {
    return interpolate(text, (name) => lookup(this.client, name) ?? lookup(this.node, name));
  }

  /** What hooks get. */
  view(): HookEnv {
    return Object.freeze({ all: this.all, replace: (text: string) => this.replace(text) });
  }

  /**
   * The same names as nested objects, for a driver's `config` block: `env["X"]` and `X`, `node.…`, `attr.…`, `meta.…`, and also `node.attr`
   * and `node.meta`. A name that is both a value and the start of others is the object.
   */
  nested(): Record<string, unknown> {
    const root: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of Object.entries(this.all)) put(root, name.split("."), value);
    for (const [name, value] of Object.entries(this.node)) put(root, name.split("."), value);
    root["env"] = { ...this.all };
    const node = asObject(root["node"]);
    if (root["attr"] !== undefined) node["attr"] = root["attr"];
    if (root["meta"] !== undefined) node["meta"] = root["meta"];
    root["node"] = node;
    return root;
  }
}

function lookup(map: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

function put(root: Record<string, unknown>, path: readonly string[], value: string): void {
  let at = root;
  for (const part of path.slice(0, -1)) {
    const next = at[part];
    at =
      typeof next === "object" && next !== null ? (next as Record<string, unknown>) : (at[part] = asObject(undefined));
  }
  const last = path.at(-1) as string;
  if (typeof at[last] !== "object") at[last] = value;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)
    : (Object.create(null) as Record<string, unknown>);
}
