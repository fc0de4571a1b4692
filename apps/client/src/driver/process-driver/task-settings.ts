/** The job's `config` block of a task of this driver. */
import { type HclSpec, RecoverableError } from "@outrider/plugin-driver";
import { decode } from "@msgpack/msgpack";

/** What the `config` block says. */
export interface TaskSettings {
  readonly command: string;
  readonly args: readonly string[];
  /** "" = the task's folder. */
  readonly workDir: string;
  readonly oomScoreAdj?: number;
  /** Names, `*` allowed, of variables that the task must not get. */
  readonly deniedEnv: readonly string[];
  /** v1 controller to cgroup path. */
  readonly cgroupV1: Readonly<Record<string, string>>;
  readonly cgroupV2: string;
  /** Limits of the kernel by name, as prlimit(1) takes them: `nofile` to `1024:4096`. */
  readonly limits: Readonly<Record<string, string>>;
  /** Octal; "" = the default. */
  readonly umask: string;
}

const attr = (name: string, type: string, required = false): HclSpec => ({ kind: "attr", name, type, required });

/** The attributes of Nomad's raw_exec, and two of our own: `ulimit` (as Nomad's docker driver has it) and `umask`. */
export const TASK_SCHEMA: HclSpec = {
  kind: "object",
  attributes: {
    args: attr("args", "list(string)"),
    cgroup_v1_override: attr("cgroup_v1_override", "list(map(string))"),
    cgroup_v2_override: attr("cgroup_v2_override", "string"),
    command: attr("command", "string", true),
    denied_envvars: attr("denied_envvars", "list(string)"),
    oom_score_adj: attr("oom_score_adj", "number"),
    ulimit: attr("ulimit", "list(map(string))"),
    umask: attr("umask", "string"),
    work_dir: attr("work_dir", "string"),
  },
};

const KNOWN = new Set([
  "args",
  "cgroup_v1_override",
  "cgroup_v2_override",
  "command",
  "denied_envvars",
  "oom_score_adj",
  "ulimit",
  "umask",
  "work_dir",
]);

/** The limits that prlimit(1) knows, by the names of limits.conf(5) where they differ. */
const LIMITS = new Set([
  "as",
  "core",
  "cpu",
  "data",
  "fsize",
  "locks",
  "memlock",
  "msgqueue",
  "nice",
  "nofile",
  "nproc",
  "rss",
  "rtprio",
  "rttime",
  "sigpending",
  "stack",
]);
const LIMIT_VALUE = /^(unlimited|[0-9]{1,18})(:(unlimited|[0-9]{1,18}))?$/;

/**
 * Decodes and checks the block.
 * @throws RecoverableError (not recoverable) naming the field and the offending value
 */
export function decodeSettings(bytes: Uint8Array): TaskSettings {
  let raw: unknown;
  try {
    raw = decode(bytes);
  } catch (reason) {
    throw new RecoverableError("failed to decode driver config: not msgpack", false, { cause: reason });
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw refused("config", raw, "is no map");
  const map = raw as Record<string, unknown>;
  for (const key of Object.keys(map)) if (!KNOWN.has(key)) throw refused(key, map[key], "is not known to this driver");
  const command = text(map, "command");
  if (command === "") throw refused("command", command, "is required");
  const workDir = text(map, "work_dir");
  if (workDir !== "" && !workDir.startsWith("/")) throw refused("work_dir", workDir, "must be an absolute path");
  const umask = text(map, "umask");
  if (!/^([0-7]{1,4})?$/.test(umask)) throw refused("umask", umask, "must be an octal text such as 027");
  const oom = oomScore(map["oom_score_adj"]);
  return {
    command,
    args: texts(map, "args"),
    workDir,
    ...(oom === undefined ? {} : { oomScoreAdj: oom }),
    deniedEnv: texts(map, "denied_envvars"),
    cgroupV1: overrides("cgroup_v1_override", map["cgroup_v1_override"]),
    cgroupV2: text(map, "cgroup_v2_override"),
    limits: limits(map["ulimit"]),
    umask,
  };
}

function oomScore(value: unknown): number | undefined {
  if (value === null || value === undefined) return undefined;
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > 1000) {
    throw refused("oom_score_adj", value, "must be a whole number from 0 to 1000");
  }
  return number;
}

/** `1024` is both limits, `1024:4096` soft and hard. Sizes are bytes, times are seconds. */
function limits(value: unknown): Record<string, string> {
  const all = overrides("ulimit", value);
  for (const [name, limit] of Object.entries(all)) {
    if (!LIMITS.has(name)) throw refused("ulimit", name, `is no limit; there are ${[...LIMITS].join(", ")}`);
    const [soft, hard] = LIMIT_VALUE.test(limit) ? limit.split(":") : [];
    if (soft === undefined) throw refused("ulimit", { [name]: limit }, "must be a number, unlimited, or soft:hard");
    const above =
      soft === "unlimited" ? hard !== "unlimited" : hard !== "unlimited" && BigInt(soft) > BigInt(hard ?? soft);
    if (hard !== undefined && above) throw refused("ulimit", { [name]: limit }, "must not be above its hard limit");
  }
  return all;
}

function overrides(field: string, value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  if (!Array.isArray(value)) throw refused(field, value, "must be a list of maps");
  const all: Record<string, string> = {};
  for (const map of value as unknown[]) {
    for (const [controller, path] of Object.entries((map ?? {}) as Record<string, unknown>)) {
      if (typeof path !== "string") throw refused(field, path, "must hold texts");
      all[controller] = path;
    }
  }
  return all;
}

function text(map: Record<string, unknown>, key: string): string {
  const value = map[key] ?? "";
  if (typeof value !== "string" || value.includes("\0")) throw refused(key, value, "must be a text without NUL");
  return value;
}

function texts(map: Record<string, unknown>, key: string): string[] {
  const value = map[key] ?? [];
  const fine = (item: unknown): item is string => typeof item === "string" && !item.includes("\0");
  if (!Array.isArray(value) || !value.every(fine)) throw refused(key, value, "must be a list of texts without NUL");
  return value;
}

function refused(field: string, value: unknown, why: string): RecoverableError {
  const shown = typeof value === "bigint" ? String(value) : JSON.stringify(value);
  return new RecoverableError(`raw_exec config: ${field} ${shown ?? ""} ${why}`, false);
}
