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
}

const attr = (name: string, type: string, required = false): HclSpec => ({ kind: "attr", name, type, required });

/** The same attributes as Nomad's raw_exec. */
export const TASK_SCHEMA: HclSpec = {
  kind: "object",
  attributes: {
    args: attr("args", "list(string)"),
    cgroup_v1_override: attr("cgroup_v1_override", "list(map(string))"),
    cgroup_v2_override: attr("cgroup_v2_override", "string"),
    command: attr("command", "string", true),
    denied_envvars: attr("denied_envvars", "list(string)"),
    oom_score_adj: attr("oom_score_adj", "number"),
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
  "work_dir",
]);

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
  const oom = oomScore(map["oom_score_adj"]);
  return {
    command,
    args: texts(map, "args"),
    workDir,
    ...(oom === undefined ? {} : { oomScoreAdj: oom }),
    deniedEnv: texts(map, "denied_envvars"),
    cgroupV1: overrides(map["cgroup_v1_override"]),
    cgroupV2: text(map, "cgroup_v2_override"),
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

function overrides(value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  if (!Array.isArray(value)) throw refused("cgroup_v1_override", value, "must be a list of maps");
  const all: Record<string, string> = {};
  for (const map of value as unknown[]) {
    for (const [controller, path] of Object.entries((map ?? {}) as Record<string, unknown>)) {
      if (typeof path !== "string") throw refused("cgroup_v1_override", path, "must hold texts");
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
