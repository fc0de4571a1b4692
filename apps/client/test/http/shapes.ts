/** Path of a request with ids and job names taken out. */
export function route(path: string): string {
  return path
    .split("?")[0]!
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, ":id")
    .replace(/^\/v1\/job\/[^/]+/, "/v1/job/:job");
}

/** Objects whose keys are data, not fields. */
const MAPS = new Set([
  "TaskStates",
  "Details",
  "Meta",
  "Env",
  "Attributes",
  "Drivers",
  "Links",
  "HostVolumes",
  "HostNetworks",
  "CSIControllerPlugins",
  "CSINodePlugins",
  "Summary",
  "DesiredTGUpdates",
  "QueuedAllocations",
  "FailedTGAllocs",
  "TaskResources",
  "TaskLifecycles",
  "NodesAvailable",
  "DimensionExhausted",
  "ConstraintFiltered",
  "ResourcesExhausted",
  "Scores",
  "ClassEligibility",
  "Labels",
  "Pids",
  "VariableFlags",
  "Config",
  "Matches",
  "Truncations",
  "Dynamic",
  "Static",
  "ClassFiltered",
  "ClassExhausted",
]);

interface Node {
  types: Set<string>;
  /** Keys of every object seen here: the number of objects that had each. */
  keys: Map<string, number>;
  objects: number;
}

/** What the recorded bodies of each route look like, and how another body differs from all of them. */
export class Shapes {
  readonly #routes = new Map<string, Map<string, Node>>();

  learn(method: string, path: string, status: number, body: unknown): void {
    const key = `${method} ${route(path)} ${status}`;
    const nodes = this.#routes.get(key) ?? new Map<string, Node>();
    this.#routes.set(key, nodes);
    visit(body, "", (at, type, keys) => {
      const node = nodes.get(at) ?? { types: new Set(), keys: new Map(), objects: 0 };
      nodes.set(at, node);
      node.types.add(type);
      if (keys === undefined) return;
      node.objects += 1;
      for (const name of keys) node.keys.set(name, (node.keys.get(name) ?? 0) + 1);
    });
  }

  /** Unknown or missing keys and other types. A key that only some recorded objects have may be there or not. */
  differences(method: string, path: string, status: number, body: unknown, absent: readonly string[]): string[] {
    const nodes = this.#routes.get(`${method} ${route(path)} ${status}`);
    if (nodes === undefined) return [];
    const found = new Set<string>();
    const ignored = (at: string): boolean =>
      absent.some((pattern) =>
        pattern.endsWith(".*") ? at.startsWith(pattern.slice(0, -1)) || at === pattern.slice(0, -2) : at === pattern,
      );
    visit(body, "", (at, type, keys) => {
      const node = nodes.get(at);
      if (node === undefined || ignored(at.replace(/^\./, ""))) return;
      const known = node.types.has(type) || type === "null" || node.types.has("null");
      if (!known) found.add(`${at}: ${type}, recorded ${[...node.types].join("|")}`);
      if (keys === undefined || node.objects === 0) return;
      for (const name of keys)
        if (!node.keys.has(name) && !ignored(`${at}.${name}`.replace(/^\./, "")))
          found.add(`${at}.${name}: not recorded`);
      for (const [name, count] of node.keys)
        if (count === node.objects && !keys.includes(name) && !ignored(`${at}.${name}`.replace(/^\./, "")))
          found.add(`${at}.${name}: missing`);
    });
    return [...found].sort();
  }
}

function visit(value: unknown, at: string, note: (at: string, type: string, keys?: string[]) => void, name = ""): void {
  if (value === null || value === undefined) return note(at, "null");
  if (Array.isArray(value)) {
    note(at, "array");
    for (const item of value) visit(item, `${at}[]`, note);
    return;
  }
  if (typeof value !== "object") return note(at, typeof value);
  const entries = Object.entries(value);
  const isMap = MAPS.has(name) || ((name === "TaskGroups" || name === "Tasks") && !Array.isArray(value));
  note(at, "object", isMap ? undefined : entries.map(([key]) => key));
  if (name === "Config") return;
  for (const [key, item] of entries) visit(item, isMap ? `${at}{}` : `${at}.${key}`, note, isMap ? "" : key);
}
