import { make } from "./dsl/json.ts";
import { formatDuration } from "./duration.ts";
import { TaskEventStruct, type TaskEvent } from "./structs/task-state.ts";

/** Values of `TaskEvent.Type`, by a name for programs. @public */
export const TASK_EVENT = {
  received: "Received",
  taskSetup: "Task Setup",
  setupFailure: "Setup Failure",
  failedValidation: "Failed Validation",
  downloadingArtifacts: "Downloading Artifacts",
  failedArtifactDownload: "Failed Artifact Download",
  driver: "Driver",
  driverFailure: "Driver Failure",
  started: "Started",
  terminated: "Terminated",
  restarting: "Restarting",
  notRestarting: "Not Restarting",
  restartSignaled: "Restart Signaled",
  signaling: "Signaling",
  killing: "Killing",
  killed: "Killed",
  siblingFailed: "Sibling Task Failed",
  leaderDead: "Leader Task Dead",
  mainTasksDead: "Main Tasks Dead",
  hookFailed: "Task hook failed",
  hookMessage: "Task hook message",
  failedRestoring: "Failed Restoring Task",
  reconnected: "Reconnected",
  waitingShutdownDelay: "Waiting for shutdown delay",
  skippingShutdownDelay: "Skipping shutdown delay",
  pausing: "Pausing",
  running: "Running",
  allocUnhealthy: "Alloc Unhealthy",
  pluginHealthy: "Plugin became healthy",
  pluginUnhealthy: "Plugin became unhealthy",
  diskExceeded: "Disk Resources Exceeded",
  template: "Template",
} as const;
/** A value of {@link TASK_EVENT}. @public */
export type TaskEventType = (typeof TASK_EVENT)[keyof typeof TASK_EVENT];

/** Most events that a task state keeps; the oldest go first. @public */
export const MAX_TASK_EVENTS = 10;

/** The reason of a restart that shows no reason. @public */
export const RESTART_WITHIN_POLICY = "Restart within policy";

/** What an event is about; only what its type uses is set. Durations are nanoseconds. @public */
export interface TaskEventFacts {
  /** Text of setup, hook, plugin, template and health events, or of the driver; replaces the text of kill and restart requests. */
  readonly message?: string;
  /** The failure of setup, validation, download, driver, kill or setup. */
  readonly error?: string;
  readonly exitCode?: number;
  readonly signal?: number;
  readonly oomKilled?: boolean;
  readonly exitMessage?: string;
  readonly startDelayNs?: number;
  readonly reason?: string;
  readonly failsTask?: boolean;
  readonly killTimeoutNs?: number;
  readonly shutdownDelayNs?: number;
  readonly signalName?: string;
  readonly sibling?: string;
  /** `schedule` or `override`, of pause events. */
  readonly cause?: "schedule" | "override";
  /** Extra entries of `Details`, e.g. a driver's annotations. */
  readonly annotations?: Readonly<Record<string, string>>;
}

type Parts = Omit<Partial<TaskEvent>, "Details"> & { Details?: Record<string, string> };

function terminated(f: TaskEventFacts): Parts {
  const code = f.exitCode ?? 0;
  const signal = f.signal ?? 0;
  const message = f.exitMessage ?? "";
  const shownSignal = signal === 0 ? "" : `, Signal: ${signal}`;
  const shownMessage = message === "" ? "" : `, Exit Message: ${JSON.stringify(message)}`;
  const details: Record<string, string> = {
    exit_code: String(code),
    signal: String(signal),
    oom_killed: String(f.oomKilled ?? false),
  };
  if (message !== "") details["exit_message"] = message;
  return {
    DisplayMessage: `Exit Code: ${code}${shownSignal}${shownMessage}`,
    Details: details,
    ExitCode: code,
    Signal: signal,
    ...(message === "" ? {} : { Message: message }),
  };
}

function restarting(f: TaskEventFacts): Parts {
  const delay = f.startDelayNs ?? 0;
  const reason = f.reason ?? RESTART_WITHIN_POLICY;
  const shown = reason === "" || reason === RESTART_WITHIN_POLICY ? "" : `${reason} - `;
  return {
    DisplayMessage: `${shown}Task restarting in ${formatDuration(delay)}`,
    Details: { restart_reason: reason, start_delay: String(delay) },
    RestartReason: reason,
    StartDelay: delay,
  };
}

function killing(f: TaskEventFacts): Parts {
  const details: Record<string, string> = {};
  const parts: Parts = { Details: details, FailsTask: f.failsTask ?? false };
  if (f.killTimeoutNs !== undefined) {
    const timeout = formatDuration(f.killTimeoutNs);
    details["kill_timeout"] = timeout;
    parts.KillTimeout = f.killTimeoutNs;
    parts.DisplayMessage = `Sent interrupt. Waiting ${timeout} before force killing`;
  }
  if (f.reason !== undefined && f.reason !== "") {
    details["kill_reason"] = f.reason;
    parts.KillReason = f.reason;
    parts.DisplayMessage = f.reason;
  }
  if (f.message !== undefined) parts.DisplayMessage = f.message;
  if (f.failsTask === true) details["fails_task"] = "true";
  return parts;
}

function signaling(f: TaskEventFacts): Parts {
  const name = f.signalName ?? "";
  if (f.reason === undefined || f.reason === "") {
    return { DisplayMessage: "Task being sent a signal", Details: { signal: name } };
  }
  return {
    DisplayMessage: `Task being sent signal ${name}: ${f.reason}`,
    Details: { task_signal: name, task_signal_reason: f.reason },
    TaskSignal: name,
    TaskSignalReason: f.reason,
  };
}

function setupFailure(f: TaskEventFacts): Parts {
  const error = f.error ?? "";
  const details: Record<string, string> = { setup_error: error };
  if (f.reason !== undefined) details["kill_reason"] = f.reason;
  if (f.failsTask === true) details["fails_task"] = "true";
  return {
    DisplayMessage: error === "" ? "Task setup failed" : error,
    Details: details,
    SetupError: error,
    KillReason: f.reason ?? "",
    FailsTask: f.failsTask ?? false,
  };
}

function failure(key: string, fallback: string, f: TaskEventFacts): Parts {
  const error = f.error ?? "";
  return { DisplayMessage: error === "" ? fallback : error, Details: { [key]: error } };
}

function messaged(f: TaskEventFacts, fallback = ""): Parts {
  const message = f.message ?? fallback;
  return { DisplayMessage: message, Message: message, Details: message === "" ? {} : { message } };
}

function partsOf(type: TaskEventType, f: TaskEventFacts): Parts {
  switch (type) {
    case TASK_EVENT.received:
      return { DisplayMessage: "Task received by client", Details: {} };
    case TASK_EVENT.taskSetup:
      return messaged(f, "Building Task Directory");
    case TASK_EVENT.setupFailure:
      return setupFailure(f);
    case TASK_EVENT.failedValidation:
      return { ...failure("validation_error", "Validation of task failed", f), ValidationError: f.error ?? "" };
    case TASK_EVENT.downloadingArtifacts:
      return { DisplayMessage: "Client is downloading artifacts", Details: {} };
    case TASK_EVENT.failedArtifactDownload:
      return { ...failure("download_error", "Failed to download artifacts", f), DownloadError: f.error ?? "" };
    case TASK_EVENT.driver:
      return driverMessage(f);
    case TASK_EVENT.driverFailure:
      return { ...failure("driver_error", "Failed to start task", f), DriverError: f.error ?? "" };
    case TASK_EVENT.started:
      return { DisplayMessage: "Task started by client", Details: {} };
    case TASK_EVENT.terminated:
      return terminated(f);
    case TASK_EVENT.restarting:
      return restarting(f);
    case TASK_EVENT.notRestarting:
      return notRestarting(f);
    case TASK_EVENT.restartSignaled:
      return restartSignaled(f);
    case TASK_EVENT.signaling:
      return signaling(f);
    case TASK_EVENT.killing:
      return killing(f);
    case TASK_EVENT.killed:
      return killed(f);
    case TASK_EVENT.siblingFailed:
      return siblingFailed(f);
    case TASK_EVENT.leaderDead:
      return { DisplayMessage: "Leader Task in Group dead", Details: {} };
    case TASK_EVENT.mainTasksDead:
      return { DisplayMessage: "Main tasks in the group died", Details: {} };
    case TASK_EVENT.failedRestoring:
      return { DisplayMessage: "failed to restore task; will not run until server is contacted", Details: {} };
    case TASK_EVENT.reconnected:
      return { DisplayMessage: "Client reconnected", Details: {} };
    case TASK_EVENT.waitingShutdownDelay:
      return { DisplayMessage: `Waiting for ${shutdownDelay(f)}`, Details: {} };
    case TASK_EVENT.skippingShutdownDelay:
      return { DisplayMessage: `Skipping ${shutdownDelay(f)}`, Details: {} };
    case TASK_EVENT.template:
      return { DisplayMessage: f.message ?? "", Details: {} };
    case TASK_EVENT.pausing:
    case TASK_EVENT.running:
      return { DisplayMessage: `${type} due to ${f.cause ?? "schedule"}`, Details: {} };
    default:
      return messaged(f);
  }
}

function driverMessage(f: TaskEventFacts): Parts {
  const message = f.message ?? "";
  return { DisplayMessage: message, DriverMessage: message, Details: { driver_message: message } };
}

function notRestarting(f: TaskEventFacts): Parts {
  const reason = f.reason ?? "";
  const details: Record<string, string> = { restart_reason: reason };
  const fails = f.failsTask ?? true;
  if (fails) details["fails_task"] = "true";
  return { DisplayMessage: reason, Details: details, RestartReason: reason, FailsTask: fails };
}

function shutdownDelay(f: TaskEventFacts): string {
  return `shutdown_delay of ${formatDuration(f.shutdownDelayNs ?? 0)} before killing the task.`;
}

function restartSignaled(f: TaskEventFacts): Parts {
  const reason = f.reason ?? "";
  const shown = f.message ?? (reason === "" ? "Task signaled to restart" : reason);
  return { DisplayMessage: shown, Details: reason === "" ? {} : { restart_reason: reason }, RestartReason: reason };
}

function killed(f: TaskEventFacts): Parts {
  const error = f.error ?? "";
  return {
    DisplayMessage: error === "" ? "Task successfully killed" : error,
    Details: error === "" ? {} : { kill_error: error },
    KillError: error,
    FailsTask: f.failsTask ?? false,
  };
}

function siblingFailed(f: TaskEventFacts): Parts {
  const sibling = f.sibling ?? "";
  return {
    DisplayMessage: sibling === "" ? "Task's sibling failed" : `Task's sibling "${sibling}" failed`,
    Details: { failed_sibling: sibling },
    FailedSibling: sibling,
  };
}

/**
 * A task event with the texts and details that Nomad users know. `timeMs` is the wall clock in milliseconds.
 *
 * @public
 */
export function taskEvent(type: TaskEventType, timeMs: number, facts: TaskEventFacts = {}): TaskEvent {
  const parts = partsOf(type, facts);
  const details = { ...facts.annotations, ...parts.Details };
  return make(TaskEventStruct, { ...parts, Type: type, Time: Math.round(timeMs * 1e6), Details: details });
}

/** The events of a task after one more, the newest {@link MAX_TASK_EVENTS}. @public */
export function appendTaskEvent(events: readonly TaskEvent[] | null, event: TaskEvent): TaskEvent[] {
  return [...(events ?? []), event].slice(-MAX_TASK_EVENTS);
}
