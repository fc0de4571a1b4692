/** Values of `Job.Type`. @public */
export const JOB_TYPES = ["service", "batch", "system", "sysbatch"] as const;
/** A value of {@link JOB_TYPES}. @public */
export type JobType = (typeof JOB_TYPES)[number];

/** Values of `Job.Status`. @public */
export const JOB_STATUSES = ["pending", "running", "dead"] as const;
/** A value of {@link JOB_STATUSES}. @public */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Values of `Allocation.DesiredStatus`. @public */
export const ALLOC_DESIRED_STATUSES = ["run", "stop", "evict"] as const;
/** A value of {@link ALLOC_DESIRED_STATUSES}. @public */
export type AllocDesiredStatus = (typeof ALLOC_DESIRED_STATUSES)[number];

/** Values of `Allocation.ClientStatus`; the server alone sets `lost` and `unknown`. @public */
export const ALLOC_CLIENT_STATUSES = ["pending", "running", "complete", "failed", "lost", "unknown"] as const;
/** A value of {@link ALLOC_CLIENT_STATUSES}. @public */
export type AllocClientStatus = (typeof ALLOC_CLIENT_STATUSES)[number];

/** Values of `TaskState.State`. @public */
export const TASK_STATES = ["pending", "running", "dead"] as const;
/** A value of {@link TASK_STATES}. @public */
export type TaskStateName = (typeof TASK_STATES)[number];

/** Values of `Node.Status`. @public */
export const NODE_STATUSES = ["initializing", "ready", "down", "disconnected"] as const;
/** A value of {@link NODE_STATUSES}. @public */
export type NodeStatus = (typeof NODE_STATUSES)[number];

/** Values of `Node.SchedulingEligibility`. @public */
export const NODE_ELIGIBILITIES = ["eligible", "ineligible"] as const;
/** A value of {@link NODE_ELIGIBILITIES}. @public */
export type NodeEligibility = (typeof NODE_ELIGIBILITIES)[number];

/** Values of `Evaluation.Status`. @public */
export const EVAL_STATUSES = ["blocked", "pending", "complete", "failed", "canceled"] as const;
/** A value of {@link EVAL_STATUSES}. @public */
export type EvalStatus = (typeof EVAL_STATUSES)[number];

/** Values of `Deployment.Status`. @public */
export const DEPLOYMENT_STATUSES = [
  "running",
  "paused",
  "failed",
  "successful",
  "cancelled",
  "initializing",
  "pending",
  "blocked",
  "unblocking",
] as const;
/** A value of {@link DEPLOYMENT_STATUSES}. @public */
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** Values of `TaskLifecycleConfig.Hook`. @public */
export const LIFECYCLE_HOOKS = ["prestart", "poststart", "poststop"] as const;
/** A value of {@link LIFECYCLE_HOOKS}. @public */
export type LifecycleHook = (typeof LIFECYCLE_HOOKS)[number];

/** Values of `RestartPolicy.Mode`. @public */
export const RESTART_MODES = ["fail", "delay"] as const;
/** A value of {@link RESTART_MODES}. @public */
export type RestartMode = (typeof RESTART_MODES)[number];

/**
 * Values of `TaskState.Paused`: "" runs by its schedule (or has none); `schedule_resume` is transient.
 *
 * @public
 */
export const TASK_PAUSE_STATES = ["", "force_run", "scheduled_pause", "force_pause", "schedule_resume"] as const;
/** A value of {@link TASK_PAUSE_STATES}. @public */
export type TaskPauseState = (typeof TASK_PAUSE_STATES)[number];

/** Words of the HTTP API and the CLI for pause requests, and the state each asks for. @public */
export const PAUSE_REQUESTS: Readonly<Record<"pause" | "run" | "scheduled", TaskPauseState>> = {
  pause: "force_pause",
  run: "force_run",
  scheduled: "schedule_resume",
};

/** Whether a task in this state waits on purpose. @public */
export function isPaused(state: string): boolean {
  return state === "scheduled_pause" || state === "force_pause";
}

/** Whether the client is done with an allocation of this status. @public */
export function isClientTerminal(clientStatus: string): boolean {
  return clientStatus === "complete" || clientStatus === "failed" || clientStatus === "lost";
}

/** Whether the server wants the allocation to end. @public */
export function isServerTerminal(desiredStatus: string): boolean {
  return desiredStatus === "stop" || desiredStatus === "evict";
}
