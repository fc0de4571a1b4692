import {
  formatDuration,
  RESTART_MODES,
  type MigrateStrategy,
  type ReschedulePolicy,
  type RestartPolicy,
  type UpdateStrategy,
} from "@outrider/nomad-structs";
import type { Report } from "./report.ts";

const S = 1_000_000_000;
const MIN_RESTART_INTERVAL = 5 * S;
const MIN_RESCHEDULE_DELAY = 5 * S;
const HEALTH_CHECKS = ["checks", "task_states", "manual"];
const DELAY_FUNCTIONS = ["constant", "exponential", "fibonacci"];

/** A restart policy of a group or task. */
export function checkRestart(p: RestartPolicy | null, r: Report): void {
  if (p === null) return r.error("restart-missing", "RestartPolicy", null, "needs a restart policy");
  const at = r.at("RestartPolicy");
  if (!(RESTART_MODES as readonly string[]).includes(p.Mode)) {
    at.error("restart-mode", "Mode", p.Mode, `restart mode must be "fail" or "delay", got ${JSON.stringify(p.Mode)}`);
  }
  if (p.Attempts < 0) at.error("restart-attempts", "Attempts", p.Attempts, "restart attempts must not be negative");
  if (p.Delay < 0) at.error("restart-delay", "Delay", p.Delay, "restart delay must not be negative");
  if (p.Attempts === 0 && p.Mode === "delay") {
    at.error("restart-attempts", "Attempts", 0, 'restart mode "delay" with 0 attempts would never restart anything');
  }
  if (p.Interval < MIN_RESTART_INTERVAL) {
    const got = formatDuration(p.Interval);
    return at.error("restart-interval", "Interval", got, `restart interval must be at least 5s, got ${got}`);
  }
  if (p.Attempts > 0 && p.Attempts * p.Delay > p.Interval) {
    const [interval, delay] = [formatDuration(p.Interval), formatDuration(p.Delay)];
    const why = `${p.Attempts} restarts with a delay of ${delay} do not fit into the restart interval of ${interval}`;
    at.error("restart-interval", "Interval", interval, why);
  }
}

/** The reschedule policy of a group. */
export function checkReschedule(p: ReschedulePolicy | null, type: string, r: Report): void {
  if (p === null) return;
  const at = r.at("ReschedulePolicy");
  if (type === "system" || type === "sysbatch") {
    return r.error("reschedule-type", "ReschedulePolicy", type, `a ${type} job cannot have a reschedule block`);
  }
  if (p.Attempts < 0)
    at.error("reschedule-attempts", "Attempts", p.Attempts, "reschedule attempts must not be negative");
  // Nothing is rescheduled: the other fields mean nothing.
  if (p.Attempts === 0 && !p.Unlimited) return;
  if (!DELAY_FUNCTIONS.includes(p.DelayFunction)) {
    const got = JSON.stringify(p.DelayFunction);
    at.error(
      "reschedule-function",
      "DelayFunction",
      p.DelayFunction,
      `delay_function must be constant, exponential or fibonacci, got ${got}`,
    );
  }
  if (p.Delay < MIN_RESCHEDULE_DELAY) {
    const got = formatDuration(p.Delay);
    at.error("reschedule-delay", "Delay", got, `reschedule delay must be at least 5s, got ${got}`);
  }
  if (p.DelayFunction !== "constant" && p.MaxDelay < p.Delay) {
    const got = formatDuration(p.MaxDelay);
    at.error("reschedule-max-delay", "MaxDelay", got, `max_delay must not be shorter than the delay, got ${got}`);
  }
  if (p.Unlimited && p.Attempts > 0) {
    at.error("reschedule-unlimited", "Unlimited", true, "reschedule attempts mean nothing when unlimited is true");
  }
  if (!p.Unlimited && p.Interval <= 0) {
    at.error("reschedule-interval", "Interval", p.Interval, "reschedule attempts need an interval");
  }
}

function checkHealth(p: UpdateStrategy | MigrateStrategy, name: string, r: Report): void {
  if (!HEALTH_CHECKS.includes(p.HealthCheck) && !(name === "update" && p.HealthCheck === "")) {
    const got = JSON.stringify(p.HealthCheck);
    r.error(
      `${name}-health-check`,
      "HealthCheck",
      p.HealthCheck,
      `health_check must be checks, task_states or manual, got ${got}`,
    );
  }
  if (p.MaxParallel < 0)
    r.error(`${name}-max-parallel`, "MaxParallel", p.MaxParallel, "max_parallel must not be negative");
  if (p.MinHealthyTime < 0) {
    r.error(`${name}-min-healthy-time`, "MinHealthyTime", p.MinHealthyTime, "min_healthy_time must not be negative");
  }
  if (p.HealthyDeadline <= 0) {
    r.error(`${name}-healthy-deadline`, "HealthyDeadline", p.HealthyDeadline, "healthy_deadline must be positive");
  } else if (p.MinHealthyTime >= p.HealthyDeadline) {
    const got = formatDuration(p.MinHealthyTime);
    r.error(
      `${name}-min-healthy-time`,
      "MinHealthyTime",
      got,
      "min_healthy_time must be shorter than healthy_deadline",
    );
  }
}

/** The update strategy of a group. */
export function checkUpdate(p: UpdateStrategy | null, type: string, count: number, r: Report): void {
  if (p === null) return;
  if (type === "batch" || type === "sysbatch") {
    return r.error("update-type", "Update", type, `a ${type} job cannot have an update block`);
  }
  const at = r.at("Update", "update");
  checkHealth(p, "update", at);
  if (p.Canary < 0) at.error("update-canary", "Canary", p.Canary, "canary must not be negative");
  if (p.Canary > Math.max(count, 1)) at.warn(`canary is ${p.Canary}, more than the ${count} of the group`);
  if (p.Canary === 0 && p.AutoPromote) {
    at.error("update-auto-promote", "AutoPromote", true, "auto_promote needs a canary");
  }
  if (p.Stagger < 0) at.error("update-stagger", "Stagger", p.Stagger, "stagger must not be negative");
  if (p.ProgressDeadline !== 0 && p.HealthyDeadline >= p.ProgressDeadline) {
    const got = formatDuration(p.HealthyDeadline);
    at.error(
      "update-healthy-deadline",
      "HealthyDeadline",
      got,
      "healthy_deadline must be shorter than progress_deadline",
    );
  }
}

/** The migrate strategy of a group. */
export function checkMigrate(p: MigrateStrategy | null, type: string, r: Report): void {
  if (p === null) return;
  if (type !== "service") {
    return r.error("migrate-type", "Migrate", type, `a ${type} job cannot have a migrate block`);
  }
  const at = r.at("Migrate", "migrate");
  checkHealth(p, "migrate", at);
  if (p.MaxParallel === 0) at.error("migrate-max-parallel", "MaxParallel", 0, "max_parallel must be at least 1");
}
