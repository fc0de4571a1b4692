import {
  make,
  MigrateStrategyStruct,
  ReschedulePolicyStruct,
  RestartPolicyStruct,
  UpdateStrategyStruct,
  type Input,
  type MigrateStrategy,
  type ReschedulePolicy,
  type RestartPolicy,
  type UpdateStrategy,
} from "@outrider/nomad-structs";

const S = 1_000_000_000;
const MINUTE = 60 * S;
const DAY = 24 * 60 * MINUTE;

type Maybe<T> = Input<T> | null | undefined;

/** The layers on top of each other; a field that is absent or null shows what lies below. */
export function layered<T extends object>(...layers: readonly Maybe<T>[]): Input<T> {
  const out: Record<string, unknown> = {};
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer ?? {})) {
      if (value !== null && value !== undefined) out[key] = value;
    }
  }
  return out as Input<T>;
}

const SERVICE_RESTART: RestartPolicy = {
  Attempts: 2,
  Interval: 30 * MINUTE,
  Delay: 15 * S,
  Mode: "fail",
  RenderTemplates: false,
};
const BATCH_RESTART: RestartPolicy = { ...SERVICE_RESTART, Attempts: 3, Interval: DAY };

const SERVICE_RESCHEDULE: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 30 * S,
  DelayFunction: "exponential",
  MaxDelay: 60 * MINUTE,
  Unlimited: true,
};
const BATCH_RESCHEDULE: ReschedulePolicy = {
  Attempts: 1,
  Interval: DAY,
  Delay: 5 * S,
  DelayFunction: "constant",
  MaxDelay: 0,
  Unlimited: false,
};

const UPDATE: UpdateStrategy = {
  Stagger: 30 * S,
  MaxParallel: 1,
  HealthCheck: "checks",
  MinHealthyTime: 10 * S,
  HealthyDeadline: 5 * MINUTE,
  ProgressDeadline: 10 * MINUTE,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
};

const MIGRATE: MigrateStrategy = {
  MaxParallel: 1,
  HealthCheck: "checks",
  MinHealthyTime: 10 * S,
  HealthyDeadline: 5 * MINUTE,
};

/**
 * A stored batch job has an update block with every field zero, which is none. One where some fields are left open, like
 * `max_parallel = 0` alone, means what it says.
 */
function given(update: Maybe<UpdateStrategy>): Maybe<UpdateStrategy> {
  const fields = UpdateStrategyStruct.entries.map(([key]) => (update ?? {})[key as keyof UpdateStrategy]);
  const blank = fields.every((value) => value !== null && value !== undefined && !value);
  return blank ? null : update;
}

/** Whether tasks of the type are meant to end. */
export function isBatch(type: string): boolean {
  return type === "batch" || type === "sysbatch";
}

/** The restart policy of a group, or of a task on top of its group's. */
export function restartPolicy(type: string, ...given: readonly Maybe<RestartPolicy>[]): RestartPolicy {
  const base: Input<RestartPolicy> = isBatch(type) ? BATCH_RESTART : SERVICE_RESTART;
  return make(RestartPolicyStruct, layered<RestartPolicy>(base, ...given));
}

/** The reschedule policy of a group; null for system jobs, which run on every node anyway. */
export function reschedulePolicy(type: string, ...given: readonly Maybe<ReschedulePolicy>[]): ReschedulePolicy | null {
  const set = given.filter((g) => g !== null && g !== undefined);
  if (type === "system" || type === "sysbatch") {
    // Kept when given, so that validation can refuse it by name.
    return set.length === 0 ? null : make(ReschedulePolicyStruct, layered<ReschedulePolicy>(...set));
  }
  const base: Input<ReschedulePolicy> = type === "batch" ? BATCH_RESCHEDULE : SERVICE_RESCHEDULE;
  return make(ReschedulePolicyStruct, layered<ReschedulePolicy>(base, ...set));
}

/** The update strategy of a group: only service and system jobs have deployments. */
export function updateStrategy(type: string, ...layers: readonly Maybe<UpdateStrategy>[]): UpdateStrategy | null {
  const set = layers.map(given).filter((g) => g !== null && g !== undefined);
  if (isBatch(type)) return set.length === 0 ? null : make(UpdateStrategyStruct, layered<UpdateStrategy>(...set));
  return make(UpdateStrategyStruct, layered<UpdateStrategy>(UPDATE as Input<UpdateStrategy>, ...set));
}

/** What is left of the job's own update block once its groups have it: stagger and max_parallel. */
export function jobUpdate(type: string, update: Maybe<UpdateStrategy>): UpdateStrategy {
  if (isBatch(type)) return make(UpdateStrategyStruct);
  const all = layered<UpdateStrategy>(UPDATE as Input<UpdateStrategy>, given(update));
  return make(UpdateStrategyStruct, { Stagger: all.Stagger, MaxParallel: all.MaxParallel });
}

/** The migrate strategy of a group of a service job. */
export function migrateStrategy(type: string, ...given: readonly Maybe<MigrateStrategy>[]): MigrateStrategy | null {
  const set = given.filter((g) => g !== null && g !== undefined);
  if (type !== "service") {
    return set.length === 0 ? null : make(MigrateStrategyStruct, layered<MigrateStrategy>(...set));
  }
  return make(MigrateStrategyStruct, layered<MigrateStrategy>(MIGRATE as Input<MigrateStrategy>, ...set));
}
