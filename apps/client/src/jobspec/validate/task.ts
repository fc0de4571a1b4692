import { constants } from "node:os";
import { LIFECYCLE_HOOKS, type Resources, type Task, type TaskGroup, type Template } from "@outrider/nomad-structs";
import { taskNameFault } from "../names.ts";
import { checkNetworks, portLabels } from "./network.ts";
import { checkAffinities, checkConstraints } from "./placement.ts";
import { checkRestart } from "./policies.ts";
import type { Report } from "./report.ts";
import { checkSchedule } from "./schedule.ts";
import { checkServices } from "./service.ts";

const MIN_MEMORY_MB = 10;
/** What fits into one group, so that sums stay exact. */
const MAX_MB = 1_000_000_000;
const CHANGE_MODES = ["noop", "restart", "signal", "script"];

/** Whether a signal of this name exists on this system; `SIG` must be spelled out, as drivers get it. */
export function isSignalName(name: string): boolean {
  return Object.hasOwn(constants.signals, name);
}

/** Whether a path, taken from a task's folder, leads out of the allocation's folder. */
function escapes(path: string, isTaskRelative = true): boolean {
  let depth = isTaskRelative ? 1 : 0;
  for (const part of path.split("/")) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function checkResources(res: Resources | null, r: Report): void {
  if (res === null) return r.error("resources-missing", "Resources", null, "needs resources");
  const at = r.at("Resources");
  if (res.Cores > 0 && res.CPU > 0) {
    at.error("resources-cpu-and-cores", "Cores", res.Cores, "asks for cpu and for cores; only one of them is allowed");
  }
  if (res.Cores < 0) at.error("resources-cores", "Cores", res.Cores, "cores must not be negative");
  if (res.Cores === 0 && res.CPU < 1)
    at.error("resources-cpu", "CPU", res.CPU, `cpu must be at least 1, got ${res.CPU}`);
  if (res.MemoryMB < MIN_MEMORY_MB || res.MemoryMB > MAX_MB) {
    at.error(
      "resources-memory",
      "MemoryMB",
      res.MemoryMB,
      `memory must be at least ${MIN_MEMORY_MB} MB, got ${res.MemoryMB}`,
    );
  }
  if (res.MemoryMaxMB !== 0 && res.MemoryMaxMB !== -1 && res.MemoryMaxMB < res.MemoryMB) {
    const why = `memory_max (${res.MemoryMaxMB}) must not be smaller than memory (${res.MemoryMB})`;
    at.error("resources-memory-max", "MemoryMaxMB", res.MemoryMaxMB, why);
  }
  if (res.SecretsMB < 0) at.error("resources-secrets", "SecretsMB", res.SecretsMB, "secrets must not be negative");
  checkNetworks(res.Networks, at);
}

function checkTemplate(t: Template, r: Report): void {
  if (t.EmbeddedTmpl === "" && t.SourcePath === "") {
    r.error("template-source", "SourcePath", "", "needs data or a source");
  }
  if (t.DestPath === "") r.error("template-destination", "DestPath", "", "needs a destination");
  else if (escapes(t.DestPath)) {
    r.error(
      "template-escape",
      "DestPath",
      t.DestPath,
      `destination ${JSON.stringify(t.DestPath)} leads out of the allocation folder`,
    );
  }
  if (!CHANGE_MODES.includes(t.ChangeMode)) {
    r.error(
      "template-change-mode",
      "ChangeMode",
      t.ChangeMode,
      `change_mode must be one of ${CHANGE_MODES.join(", ")}`,
    );
  }
  if (t.ChangeMode === "signal" && !isSignalName(t.ChangeSignal)) {
    r.error(
      "template-signal",
      "ChangeSignal",
      t.ChangeSignal,
      `change_signal ${JSON.stringify(t.ChangeSignal)} is no signal`,
    );
  }
  if (t.ChangeMode === "script" && (t.ChangeScript === null || t.ChangeScript.Command === "")) {
    r.error("template-script", "ChangeScript", "", "change_mode script needs a change_script with a command");
  }
  if (t.Splay < 0) r.error("template-splay", "Splay", t.Splay, "splay must not be negative");
  if (!/^0?[0-7]{3,4}$/.test(t.Perms)) {
    r.error("template-perms", "Perms", t.Perms, `perms ${JSON.stringify(t.Perms)} must be octal digits like 0644`);
  }
}

function checkMaps(task: Task, r: Report): void {
  for (const [name, value] of Object.entries(task.Env ?? {})) {
    if (name === "" || /[=\0]/.test(name)) {
      r.error("env-name", "Env", name, `env name ${JSON.stringify(name)} must not be empty or hold "=" or NUL`);
    }
    if (value.includes("\0"))
      r.error("env-value", `Env.${name}`, name, `the value of env ${JSON.stringify(name)} must not hold NUL`);
  }
  for (const [i, artifact] of (task.Artifacts ?? []).entries()) {
    const at = r.at(`Artifacts[${i}]`, `artifact ${i + 1}`);
    if (artifact.GetterSource === "") at.error("artifact-source", "GetterSource", "", "needs a source");
    if (!["any", "file", "dir"].includes(artifact.GetterMode)) {
      at.error("artifact-mode", "GetterMode", artifact.GetterMode, "mode must be any, file or dir");
    }
    if (escapes(artifact.RelativeDest)) {
      at.error(
        "artifact-escape",
        "RelativeDest",
        artifact.RelativeDest,
        "destination leads out of the allocation folder",
      );
    }
  }
}

function checkMounts(task: Task, group: TaskGroup, r: Report): void {
  for (const [i, mount] of (task.VolumeMounts ?? []).entries()) {
    const at = r.at(`VolumeMounts[${i}]`, `volume_mount ${i + 1}`);
    if (mount.Volume === "" || !Object.hasOwn(group.Volumes ?? {}, mount.Volume)) {
      at.error(
        "mount-volume",
        "Volume",
        mount.Volume,
        `names the volume ${JSON.stringify(mount.Volume)}, which the group does not have`,
      );
    }
    if (mount.Destination === "") at.error("mount-destination", "Destination", "", "needs a destination");
    if (!["private", "host-to-task", "bidirectional"].includes(mount.PropagationMode)) {
      at.error(
        "mount-propagation",
        "PropagationMode",
        mount.PropagationMode,
        "propagation_mode must be private, host-to-task or bidirectional",
      );
    }
  }
}

function checkLogs(task: Task, group: TaskGroup, r: Report): void {
  const logs = task.LogConfig;
  if (logs === null) return r.error("logs-missing", "LogConfig", null, "needs a logs block");
  const at = r.at("LogConfig");
  if (logs.MaxFiles < 1)
    at.error("logs-files", "MaxFiles", logs.MaxFiles, `max_files must be at least 1, got ${logs.MaxFiles}`);
  if (logs.MaxFileSizeMB < 1) {
    at.error(
      "logs-size",
      "MaxFileSizeMB",
      logs.MaxFileSizeMB,
      `max_file_size must be at least 1 MB, got ${logs.MaxFileSizeMB}`,
    );
  }
  const disk = group.EphemeralDisk?.SizeMB ?? 0;
  const need = logs.MaxFiles * logs.MaxFileSizeMB;
  if (!logs.Disabled && need > disk) {
    at.error(
      "logs-disk",
      "MaxFiles",
      need,
      `its logs may take ${need} MB, more than the ${disk} MB of the ephemeral disk`,
    );
  }
}

/** One task of a group. */
export function checkTask(task: Task, group: TaskGroup, r: Report): void {
  const fault = taskNameFault(task.Name);
  if (fault !== undefined)
    r.error(fault.code, "Name", task.Name, `the task's name ${JSON.stringify(task.Name)} ${fault.message}`);
  if (task.Driver === "") r.error("driver-missing", "Driver", "", "needs a driver");
  if (/[\0\n\r]/.test(task.User)) r.error("user", "User", task.User, "the user's name must be one line");
  if (task.KillTimeout < 0)
    r.error("kill-timeout", "KillTimeout", task.KillTimeout, "kill_timeout must not be negative");
  if (task.ShutdownDelay < 0)
    r.error("shutdown-delay", "ShutdownDelay", task.ShutdownDelay, "shutdown_delay must not be negative");
  if (task.KillSignal !== "" && !isSignalName(task.KillSignal)) {
    const got = JSON.stringify(task.KillSignal);
    r.error(
      "kill-signal",
      "KillSignal",
      task.KillSignal,
      `kill_signal ${got} is no signal; it is spelled like SIGTERM`,
    );
  }
  const hook = task.Lifecycle?.Hook;
  if (hook !== undefined && !(LIFECYCLE_HOOKS as readonly string[]).includes(hook)) {
    r.error(
      "lifecycle-hook",
      "Lifecycle.Hook",
      hook,
      `lifecycle hook must be prestart, poststart or poststop, got ${JSON.stringify(hook)}`,
    );
  }
  if (hook !== undefined && task.Leader) {
    r.warn("is the leader although it has a lifecycle block");
  }
  checkResources(task.Resources, r);
  checkRestart(task.RestartPolicy, r);
  checkLogs(task, group, r);
  checkConstraints(task.Constraints, r);
  checkAffinities(task.Affinities, r);
  checkMaps(task, r);
  checkMounts(task, group, r);
  for (const [i, template] of (task.Templates ?? []).entries()) {
    checkTemplate(template, r.at(`Templates[${i}]`, `template ${i + 1}`));
  }
  const ports = new Set([...portLabels(group.Networks), ...portLabels(task.Resources?.Networks ?? null)]);
  checkServices(task.Services, ports, r);
  checkSchedule(task, group, r);
  const file = task.DispatchPayload?.File;
  if (file !== undefined && (file === "" || escapes(file))) {
    r.error(
      "dispatch-file",
      "DispatchPayload.File",
      file,
      "the file of dispatch_payload must lie in the task's folder",
    );
  }
}
