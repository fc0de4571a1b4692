import type { JobInput } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { canonicalizeJob, OPTIONAL_FEATURES, refuseUnsupported, validateJob } from "../src/jobspec/index.ts";

type Loose = Record<string, unknown>;

const TASK = { Name: "t", Driver: "raw_exec", Config: { command: "/bin/true" } };

/** A small job with changes to the job, its group and its task. */
function jobOf(job: Loose = {}, group: Loose = {}, task: Loose = {}): JobInput {
  return { ID: "x", TaskGroups: [{ Name: "g", Tasks: [{ ...TASK, ...task }], ...group }], ...job } as JobInput;
}

function faults(input: JobInput): string[] {
  return validateJob(canonicalizeJob(input)).errors.map((e) => `${e.code} ${e.field}`);
}

const longName = "n".repeat(201);
const t = (name: string, more: Loose = {}): Loose => ({ ...TASK, Name: name, ...more });
const T = "TaskGroups[0].Tasks[0]";
const service = (more: Loose): Loose => ({ Services: [{ Name: "s", PortLabel: "80", Provider: "nomad", ...more }] });
const check = (more: Loose): Loose =>
  service({ Checks: [{ Name: "c", Type: "tcp", Interval: 1e9, Timeout: 1e9, ...more }] });
const template = (more: Loose): Loose => ({ Templates: [{ EmbeddedTmpl: "x", DestPath: "local/a", ...more }] });
const net = (...ports: Loose[]): Loose => ({ Networks: [{ ReservedPorts: ports }] });

describe("validateJob", () => {
  it("accepts a small job of each type", () => {
    for (const Type of ["service", "batch", "system", "sysbatch"]) expect(faults(jobOf({ Type }))).toEqual([]);
  });

  it.each<[string, JobInput, string]>([
    ["a job without an ID", jobOf({ ID: "" }), "name-empty ID"],
    ["an ID with a slash", jobOf({ ID: "a/b" }), "name-slash ID"],
    ["an ID with a space", jobOf({ ID: "a b" }), "name-space ID"],
    ["an ID of dots", jobOf({ ID: ".." }), "name-dots ID"],
    ["an ID with an escape sequence", jobOf({ ID: "a\u001b[31m" }), "name-unprintable ID"],
    ["an ID with a direction mark", jobOf({ ID: "a\u202eb" }), "name-unprintable ID"],
    ["an ID with half a character", jobOf({ ID: "a\ud800" }), "name-unprintable ID"],
    ["a job's name of two lines", jobOf({ Name: "a\nb" }), "job-name Name"],
    ["an unknown type", jobOf({ Type: "daemon" }), "job-type Type"],
    ["a priority of 0", jobOf({ Priority: 0 }), "job-priority Priority"],
    ["a priority of 101", jobOf({ Priority: 101 }), "job-priority Priority"],
    ["an unknown namespace", jobOf({ Namespace: "n" }), "job-namespace Namespace"],
    ["an unknown node pool", jobOf({ NodePool: "n" }), "job-node-pool NodePool"],
    ["a datacenter without a name", jobOf({ Datacenters: [""] }), "job-datacenters Datacenters"],
    ["no groups", { ID: "x" }, "job-groups TaskGroups"],
    [
      "two groups of one name",
      jobOf({
        TaskGroups: [
          { Name: "g", Tasks: [TASK] },
          { Name: "g", Tasks: [TASK] },
        ],
      }),
      "group-duplicate TaskGroups[1].Name",
    ],
    ["a group's name with a backslash", jobOf({}, { Name: "a\\b" }), "name-slash TaskGroups[0].Name"],
    ["a group's name with a final space", jobOf({}, { Name: "a " }), "name-blank-edge TaskGroups[0].Name"],
    ["a negative count", jobOf({}, { Count: -1 }), "group-count TaskGroups[0].Count"],
    ["a count beyond reason", jobOf({}, { Count: 10_001 }), "group-count TaskGroups[0].Count"],
    [
      "counts beyond reason together",
      jobOf({
        TaskGroups: [
          { Name: "g", Count: 10_000, Tasks: [TASK] },
          { Name: "h", Count: 1, Tasks: [TASK] },
        ],
      }),
      "job-count TaskGroups",
    ],
    [
      "a large job of many instances",
      jobOf({}, { Count: 1000 }, { Config: { command: "/bin/true", args: ["x".repeat(200_000)] } }),
      "job-weight ",
    ],
    ["a count of two for a system job", jobOf({ Type: "system" }, { Count: 2 }), "group-count TaskGroups[0].Count"],
    ["a group without tasks", jobOf({}, { Tasks: [] }), "group-tasks TaskGroups[0].Tasks"],
    ["two tasks of one name", jobOf({}, { Tasks: [t("a"), t("a")] }), "task-duplicate TaskGroups[0].Tasks[1].Name"],
    [
      "two leaders",
      jobOf({}, { Tasks: [t("a", { Leader: true }), t("b", { Leader: true })] }),
      "leader-twice TaskGroups[0].Tasks",
    ],
    ["a task named ..", jobOf({}, {}, { Name: ".." }), `name-dots ${T}.Name`],
    ["a task named .", jobOf({}, {}, { Name: "." }), `name-dots ${T}.Name`],
    ["a task named alloc", jobOf({}, {}, { Name: "alloc" }), `name-reserved ${T}.Name`],
    ["a task named __proto__", jobOf({}, {}, { Name: "__proto__" }), `name-reserved ${T}.Name`],
    ["a task's name of two lines", jobOf({}, {}, { Name: "a\nb" }), `name-unprintable ${T}.Name`],
    ["a task's name that is too long", jobOf({}, {}, { Name: longName }), `name-long ${T}.Name`],
    ["a task without a driver", jobOf({}, {}, { Driver: "" }), `driver-missing ${T}.Driver`],
    ["a user of two lines", jobOf({}, {}, { User: "a\nb" }), `user ${T}.User`],
    ["a negative kill_timeout", jobOf({}, {}, { KillTimeout: -1 }), `kill-timeout ${T}.KillTimeout`],
    ["a negative shutdown_delay of a task", jobOf({}, {}, { ShutdownDelay: -1 }), `shutdown-delay ${T}.ShutdownDelay`],
    ["an unknown kill signal", jobOf({}, {}, { KillSignal: "SIGNOPE" }), `kill-signal ${T}.KillSignal`],
    ["a kill signal without SIG", jobOf({}, {}, { KillSignal: "TERM" }), `kill-signal ${T}.KillSignal`],
    [
      "an unknown lifecycle hook",
      jobOf({}, {}, { Lifecycle: { Hook: "before" } }),
      `lifecycle-hook ${T}.Lifecycle.Hook`,
    ],
    [
      "cpu and cores",
      jobOf({}, {}, { Resources: { CPU: 1, Cores: 1 } }),
      `resources-cpu-and-cores ${T}.Resources.Cores`,
    ],
    ["negative cores", jobOf({}, {}, { Resources: { Cores: -1 } }), `resources-cores ${T}.Resources.Cores`],
    ["no cpu", jobOf({}, {}, { Resources: { CPU: 0 } }), `resources-cpu ${T}.Resources.CPU`],
    ["too little memory", jobOf({}, {}, { Resources: { MemoryMB: 9 } }), `resources-memory ${T}.Resources.MemoryMB`],
    [
      "memory_max below memory",
      jobOf({}, {}, { Resources: { MemoryMB: 20, MemoryMaxMB: 10 } }),
      `resources-memory-max ${T}.Resources.MemoryMaxMB`,
    ],
    ["negative secrets", jobOf({}, {}, { Resources: { SecretsMB: -1 } }), `resources-secrets ${T}.Resources.SecretsMB`],
    ["more logs than disk", jobOf({}, {}, { LogConfig: { MaxFiles: 31 } }), `logs-disk ${T}.LogConfig.MaxFiles`],
    ["no log files", jobOf({}, {}, { LogConfig: { MaxFiles: 0 } }), `logs-files ${T}.LogConfig.MaxFiles`],
    ["empty log files", jobOf({}, {}, { LogConfig: { MaxFileSizeMB: 0 } }), `logs-size ${T}.LogConfig.MaxFileSizeMB`],
    [
      "a small disk",
      jobOf({}, { EphemeralDisk: { SizeMB: 5 } }, { LogConfig: { Disabled: true } }),
      "disk-size TaskGroups[0].EphemeralDisk.SizeMB",
    ],
    [
      "an unknown restart mode",
      jobOf({}, { RestartPolicy: { Mode: "never" } }),
      "restart-mode TaskGroups[0].RestartPolicy.Mode",
    ],
    [
      "restarts that do not fit",
      jobOf({}, { RestartPolicy: { Attempts: 5, Interval: 10e9, Delay: 5e9 } }),
      "restart-interval TaskGroups[0].RestartPolicy.Interval",
    ],
    [
      "a short restart interval",
      jobOf({}, {}, { RestartPolicy: { Interval: 1 } }),
      `restart-interval ${T}.RestartPolicy.Interval`,
    ],
    [
      "negative restarts",
      jobOf({}, { RestartPolicy: { Attempts: -1 } }),
      "restart-attempts TaskGroups[0].RestartPolicy.Attempts",
    ],
    [
      "a negative restart delay",
      jobOf({}, { RestartPolicy: { Delay: -1 } }),
      "restart-delay TaskGroups[0].RestartPolicy.Delay",
    ],
    [
      "delay mode without restarts",
      jobOf({}, { RestartPolicy: { Attempts: 0, Mode: "delay" } }),
      "restart-attempts TaskGroups[0].RestartPolicy.Attempts",
    ],
    [
      "reschedule on a system job",
      jobOf({ Type: "system" }, { ReschedulePolicy: { Attempts: 1 } }),
      "reschedule-type TaskGroups[0].ReschedulePolicy",
    ],
    [
      "negative reschedules",
      jobOf({}, { ReschedulePolicy: { Attempts: -1 } }),
      "reschedule-attempts TaskGroups[0].ReschedulePolicy.Attempts",
    ],
    [
      "an unknown delay function",
      jobOf({}, { ReschedulePolicy: { DelayFunction: "x" } }),
      "reschedule-function TaskGroups[0].ReschedulePolicy.DelayFunction",
    ],
    [
      "a short reschedule delay",
      jobOf({}, { ReschedulePolicy: { Delay: 1 } }),
      "reschedule-delay TaskGroups[0].ReschedulePolicy.Delay",
    ],
    [
      "a max_delay below the delay",
      jobOf({}, { ReschedulePolicy: { MaxDelay: 6e9 } }),
      "reschedule-max-delay TaskGroups[0].ReschedulePolicy.MaxDelay",
    ],
    [
      "unlimited attempts",
      jobOf({}, { ReschedulePolicy: { Attempts: 2 } }),
      "reschedule-unlimited TaskGroups[0].ReschedulePolicy.Unlimited",
    ],
    [
      "reschedules without an interval",
      jobOf({ Type: "batch" }, { ReschedulePolicy: { Interval: 0 } }),
      "reschedule-interval TaskGroups[0].ReschedulePolicy.Interval",
    ],
    ["update on a batch job", jobOf({ Type: "batch", Update: { MaxParallel: 2 } }), "update-type TaskGroups[0].Update"],
    [
      "an unknown health check",
      jobOf({}, { Update: { HealthCheck: "x" } }),
      "update-health-check TaskGroups[0].Update.HealthCheck",
    ],
    [
      "a negative max_parallel",
      jobOf({}, { Update: { MaxParallel: -1 } }),
      "update-max-parallel TaskGroups[0].Update.MaxParallel",
    ],
    [
      "a negative min_healthy_time",
      jobOf({}, { Update: { MinHealthyTime: -1 } }),
      "update-min-healthy-time TaskGroups[0].Update.MinHealthyTime",
    ],
    [
      "no healthy_deadline",
      jobOf({}, { Update: { HealthyDeadline: 0 } }),
      "update-healthy-deadline TaskGroups[0].Update.HealthyDeadline",
    ],
    [
      "min_healthy_time beyond the deadline",
      jobOf({}, { Update: { MinHealthyTime: 400e9 } }),
      "update-min-healthy-time TaskGroups[0].Update.MinHealthyTime",
    ],
    [
      "a deadline beyond progress",
      jobOf({}, { Update: { HealthyDeadline: 900e9 } }),
      "update-healthy-deadline TaskGroups[0].Update.HealthyDeadline",
    ],
    ["a negative canary", jobOf({}, { Update: { Canary: -1 } }), "update-canary TaskGroups[0].Update.Canary"],
    [
      "auto_promote without canaries",
      jobOf({}, { Update: { AutoPromote: true } }),
      "update-auto-promote TaskGroups[0].Update.AutoPromote",
    ],
    ["a negative stagger", jobOf({}, { Update: { Stagger: -1 } }), "update-stagger TaskGroups[0].Update.Stagger"],
    [
      "migrate on a batch job",
      jobOf({ Type: "batch" }, { Migrate: { MaxParallel: 1 } }),
      "migrate-type TaskGroups[0].Migrate",
    ],
    [
      "migrate of nothing at once",
      jobOf({}, { Migrate: { MaxParallel: 0 } }),
      "migrate-max-parallel TaskGroups[0].Migrate.MaxParallel",
    ],
    [
      "a negative max_run_duration",
      jobOf({}, { MaxRunDuration: -1 }),
      "negative-duration TaskGroups[0].MaxRunDuration",
    ],
    [
      "a negative lost_after",
      jobOf({}, { Disconnect: { LostAfter: -1 } }),
      "negative-duration TaskGroups[0].Disconnect.LostAfter",
    ],
    [
      "both kinds of disconnect",
      jobOf({}, { Disconnect: { LostAfter: 1, StopOnClientAfter: 1 } }),
      "disconnect-both TaskGroups[0].Disconnect",
    ],
    [
      "an unknown reconcile",
      jobOf({}, { Disconnect: { Reconcile: "x" } }),
      "disconnect-reconcile TaskGroups[0].Disconnect.Reconcile",
    ],
    [
      "an unknown volume type",
      jobOf({}, { Volumes: { v: { Type: "nfs", Source: "s" } } }),
      "volume-type TaskGroups[0].Volumes.v.Type",
    ],
    [
      "a volume without a source",
      jobOf({}, { Volumes: { v: { Type: "host" } } }),
      "volume-source TaskGroups[0].Volumes.v.Source",
    ],
    [
      "a mount without its volume",
      jobOf({}, {}, { VolumeMounts: [{ Volume: "v", Destination: "/d" }] }),
      `mount-volume ${T}.VolumeMounts[0].Volume`,
    ],
    [
      "a mount without destination",
      jobOf({}, { Volumes: { v: { Type: "host", Source: "s" } } }, { VolumeMounts: [{ Volume: "v" }] }),
      `mount-destination ${T}.VolumeMounts[0].Destination`,
    ],
    [
      "an unknown propagation",
      jobOf(
        {},
        { Volumes: { v: { Type: "host", Source: "s" } } },
        { VolumeMounts: [{ Volume: "v", Destination: "/d", PropagationMode: "x" }] },
      ),
      `mount-propagation ${T}.VolumeMounts[0].PropagationMode`,
    ],
    [
      "a scaling range around nothing",
      jobOf({}, { Scaling: { Min: 3, Max: 2 } }),
      "scaling-bounds TaskGroups[0].Scaling",
    ],
    [
      "an unknown operator",
      jobOf({ Constraints: [{ LTarget: "a", Operand: "~" }] }),
      "constraint-operator Constraints[0].Operand",
    ],
    [
      "a constraint without attribute",
      jobOf({ Constraints: [{ Operand: "=", RTarget: "a" }] }),
      "constraint-attribute Constraints[0].LTarget",
    ],
    [
      "a constraint without value",
      jobOf({}, { Constraints: [{ LTarget: "a", Operand: "=" }] }),
      "constraint-value TaskGroups[0].Constraints[0].RTarget",
    ],
    [
      "distinct_property of zero",
      jobOf({ Constraints: [{ LTarget: "a", Operand: "distinct_property", RTarget: "0" }] }),
      "constraint-count Constraints[0].RTarget",
    ],
    [
      "distinct_hosts of maybe",
      jobOf({ Constraints: [{ Operand: "distinct_hosts", RTarget: "maybe" }] }),
      "constraint-bool Constraints[0].RTarget",
    ],
    [
      "an affinity with distinct_hosts",
      jobOf({ Affinities: [{ LTarget: "a", Operand: "distinct_hosts" }] }),
      "affinity-operator Affinities[0].Operand",
    ],
    [
      "an affinity weight of 0",
      jobOf({ Affinities: [{ LTarget: "a", RTarget: "b", Operand: "=", Weight: 0 }] }),
      "affinity-weight Affinities[0].Weight",
    ],
    [
      "an affinity weight of 101",
      jobOf({}, {}, { Affinities: [{ LTarget: "a", RTarget: "b", Operand: "=", Weight: 101 }] }),
      `affinity-weight ${T}.Affinities[0].Weight`,
    ],
    ["a spread without attribute", jobOf({ Spreads: [{}] }), "spread-attribute Spreads[0].Attribute"],
    [
      "a spread given twice",
      jobOf({ Spreads: [{ Attribute: "a" }, { Attribute: "a" }] }),
      "spread-duplicate Spreads[1].Attribute",
    ],
    ["a spread weight of 0", jobOf({ Spreads: [{ Attribute: "a", Weight: 0 }] }), "spread-weight Spreads[0].Weight"],
    [
      "spread targets above 100 %",
      jobOf({
        Spreads: [
          {
            Attribute: "a",
            SpreadTarget: [
              { Value: "x", Percent: 60 },
              { Value: "y", Percent: 50 },
            ],
          },
        ],
      }),
      "spread-percent Spreads[0].SpreadTarget",
    ],
    [
      "a spread target given twice",
      jobOf({ Spreads: [{ Attribute: "a", SpreadTarget: [{ Value: "x" }, { Value: "x" }] }] }),
      "spread-target-duplicate Spreads[0].SpreadTarget",
    ],
    ["two networks", jobOf({}, { Networks: [{}, {}] }), "network-count TaskGroups[0].Networks"],
    [
      "a port above 65535",
      jobOf({}, net({ Label: "a", Value: 65_536 })),
      "port-range TaskGroups[0].Networks[0].ReservedPorts[0].Value",
    ],
    [
      "a port label with a dot",
      jobOf({}, net({ Label: "a.b", Value: 1 })),
      "port-label TaskGroups[0].Networks[0].ReservedPorts[0].Label",
    ],
    [
      "a port label given twice",
      jobOf({}, net({ Label: "a", Value: 1 }, { Label: "a", Value: 2 })),
      "port-label-duplicate TaskGroups[0].Networks[0].ReservedPorts[1].Label",
    ],
    [
      "a port asked for twice",
      jobOf({}, net({ Label: "a", Value: 1 }, { Label: "b", Value: 1 })),
      "port-collision TaskGroups[0].Networks[0].ReservedPorts[1].Value",
    ],
    [
      "a target port of −2",
      jobOf({}, net({ Label: "a", Value: 1, To: -2 })),
      "port-to-range TaskGroups[0].Networks[0].ReservedPorts[0].To",
    ],
    ["an env name with =", jobOf({}, {}, { Env: { "a=b": "" } }), `env-name ${T}.Env`],
    ["an env value with NUL", jobOf({}, {}, { Env: { a: "\0" } }), `env-value ${T}.Env.a`],
    [
      "an artifact without source",
      jobOf({}, {}, { Artifacts: [{}] }),
      `artifact-source ${T}.Artifacts[0].GetterSource`,
    ],
    [
      "an unknown artifact mode",
      jobOf({}, {}, { Artifacts: [{ GetterSource: "s", GetterMode: "x" }] }),
      `artifact-mode ${T}.Artifacts[0].GetterMode`,
    ],
    [
      "an artifact that escapes",
      jobOf({}, {}, { Artifacts: [{ GetterSource: "s", RelativeDest: "../../x" }] }),
      `artifact-escape ${T}.Artifacts[0].RelativeDest`,
    ],
    [
      "a template without content",
      jobOf({}, {}, template({ EmbeddedTmpl: "" })),
      `template-source ${T}.Templates[0].SourcePath`,
    ],
    [
      "a template without destination",
      jobOf({}, {}, template({ DestPath: "" })),
      `template-destination ${T}.Templates[0].DestPath`,
    ],
    [
      "a template that escapes",
      jobOf({}, {}, template({ DestPath: "local/../../../x" })),
      `template-escape ${T}.Templates[0].DestPath`,
    ],
    [
      "an unknown change_mode",
      jobOf({}, {}, template({ ChangeMode: "x" })),
      `template-change-mode ${T}.Templates[0].ChangeMode`,
    ],
    [
      "an unknown change_signal",
      jobOf({}, {}, template({ ChangeMode: "signal", ChangeSignal: "x" })),
      `template-signal ${T}.Templates[0].ChangeSignal`,
    ],
    [
      "script mode without a script",
      jobOf({}, {}, template({ ChangeMode: "script" })),
      `template-script ${T}.Templates[0].ChangeScript`,
    ],
    ["a negative splay", jobOf({}, {}, template({ Splay: -1 })), `template-splay ${T}.Templates[0].Splay`],
    ["odd permissions", jobOf({}, {}, template({ Perms: "rw" })), `template-perms ${T}.Templates[0].Perms`],
    [
      "a dispatch file outside",
      jobOf({ Type: "batch" }, {}, { DispatchPayload: { File: "../../x" } }),
      `dispatch-file ${T}.DispatchPayload.File`,
    ],
    ["a service name with a dot", jobOf({}, service({ Name: "a.b" })), "service-name TaskGroups[0].Services[0].Name"],
    [
      "an unknown provider",
      jobOf({}, service({ Provider: "x" })),
      "service-provider TaskGroups[0].Services[0].Provider",
    ],
    [
      "an unknown address mode",
      jobOf({}, service({ AddressMode: "x" })),
      "service-address-mode TaskGroups[0].Services[0].AddressMode",
    ],
    [
      "an unknown on_update",
      jobOf({}, service({ OnUpdate: "x" })),
      "service-on-update TaskGroups[0].Services[0].OnUpdate",
    ],
    [
      "a service with an unknown port",
      jobOf({}, service({ PortLabel: "x" })),
      "service-port TaskGroups[0].Services[0].PortLabel",
    ],
    [
      "a service given twice",
      jobOf({}, { Services: [{ Name: "s" }, { Name: "s" }] }),
      "service-duplicate TaskGroups[0].Services[1].Name",
    ],
    ["an unknown check type", jobOf({}, check({ Type: "x" })), "check-type TaskGroups[0].Services[0].Checks[0].Type"],
    [
      "a grpc check of a nomad service",
      jobOf({}, check({ Type: "grpc" })),
      "check-type TaskGroups[0].Services[0].Checks[0].Type",
    ],
    [
      "an http check without path",
      jobOf({}, check({ Type: "http" })),
      "check-path TaskGroups[0].Services[0].Checks[0].Path",
    ],
    [
      "a script check without command",
      jobOf({}, check({ Type: "script" })),
      "check-command TaskGroups[0].Services[0].Checks[0].Command",
    ],
    [
      "a short check interval",
      jobOf({}, check({ Interval: 10e6 })),
      "check-interval TaskGroups[0].Services[0].Checks[0].Interval",
    ],
    [
      "a short check timeout",
      jobOf({}, {}, check({ Timeout: 10e6 })),
      `check-timeout ${T}.Services[0].Checks[0].Timeout`,
    ],
    [
      "an unknown on_update of a check",
      jobOf({}, check({ OnUpdate: "x" })),
      "check-on-update TaskGroups[0].Services[0].Checks[0].OnUpdate",
    ],
    [
      "a check without any port",
      jobOf({}, service({ PortLabel: "", Checks: [{ Type: "tcp", Interval: 1e9, Timeout: 1e9 }] })),
      "check-port TaskGroups[0].Services[0].Checks[0].PortLabel",
    ],
    [
      "a check with an unknown port",
      jobOf({}, check({ PortLabel: "x" })),
      "check-port TaskGroups[0].Services[0].Checks[0].PortLabel",
    ],
    [
      "a negative grace",
      jobOf({}, check({ CheckRestart: { Grace: -1 } })),
      "check-restart TaskGroups[0].Services[0].Checks[0].CheckRestart",
    ],
    ["a periodic service", jobOf({ Periodic: { Spec: "@daily" } }), "periodic-type Periodic"],
    ["a bad cron", jobOf({ Type: "batch", Periodic: { Spec: "61 * * * *" } }), "periodic-cron Periodic.Spec"],
    [
      "a bad cron in a list",
      jobOf({ Type: "batch", Periodic: { Specs: ["@daily", "x"] } }),
      "periodic-cron Periodic.Specs[1]",
    ],
    [
      "an unknown zone",
      jobOf({ Type: "batch", Periodic: { Spec: "@daily", TimeZone: "Mars/Base" } }),
      "periodic-cron Periodic.Spec",
    ],
    ["no cron", jobOf({ Type: "batch", Periodic: {} }), "periodic-spec Periodic.Spec"],
    [
      "cron and crons",
      jobOf({ Type: "batch", Periodic: { Spec: "@daily", Specs: ["@daily"] } }),
      "periodic-both Periodic.Specs",
    ],
    [
      "another kind of spec",
      jobOf({ Type: "batch", Periodic: { Spec: "@daily", SpecType: "x" } }),
      "periodic-spec-type Periodic.SpecType",
    ],
    [
      "periodic and parameterized",
      jobOf({ Type: "batch", Periodic: { Spec: "@daily" }, ParameterizedJob: {} }),
      "periodic-parameterized Periodic",
    ],
    ["a parameterized service", jobOf({ ParameterizedJob: {} }), "parameterized-type ParameterizedJob"],
    [
      "an unknown payload",
      jobOf({ Type: "batch", ParameterizedJob: { Payload: "x" } }),
      "parameterized-payload ParameterizedJob.Payload",
    ],
    [
      "a meta key named twice",
      jobOf({ Type: "batch", ParameterizedJob: { MetaRequired: ["a"], MetaOptional: ["a"] } }),
      "parameterized-meta ParameterizedJob.MetaOptional",
    ],
    ["a schedule without cron", jobOf({}, {}, { Schedule: {} }), `schedule-cron-missing ${T}.Schedule.Cron`],
    [
      "a schedule of five fields",
      jobOf({}, {}, { Schedule: { Cron: { Start: "0 9 * * *", End: "0 17" } } }),
      `schedule-start-fields ${T}.Schedule.Cron`,
    ],
    [
      "a schedule that ends before it starts",
      jobOf({}, {}, { Schedule: { Cron: { Start: "0 9 * * * *", End: "0 8", Timezone: "UTC" } } }),
      `schedule-end-before-start ${T}.Schedule.Cron`,
    ],
    [
      "a bad schedule in meta",
      jobOf({}, {}, { Meta: { outrider_schedule_start: "x" } }),
      `schedule-start-fields ${T}.Meta`,
    ],
  ])("refuses %s", (_what, job, fault) => {
    expect(faults(job)).toContain(fault);
  });

  it.each<[string, JobInput]>([
    ["names with inner spaces and of other scripts", jobOf({ ID: "grüße" }, { Name: "with space" }, { Name: "任务" })],
    ["a display name", jobOf({ Name: "Full Job / blue" })],
    [
      "a window in the block",
      jobOf({}, {}, { Schedule: { Cron: { Start: "0 9 * * 1-5 *", End: "0 17", Timezone: "Europe/Paris" } } }),
    ],
    [
      "a window in meta",
      jobOf({}, {}, { Meta: { outrider_schedule_start: "0 9 * * * *", outrider_schedule_end: "0 17" } }),
    ],
    ["a regular expression of Go", jobOf({ Constraints: [{ LTarget: "a", Operand: "regexp", RTarget: "(?i)x" }] })],
    [
      "ports that may collide",
      jobOf({}, net({ Label: "a", Value: 1 }, { Label: "b", Value: 1, IgnoreCollision: true })),
    ],
    ["a template next to the task folder", jobOf({}, {}, template({ DestPath: "../alloc/x" }))],
    ["no reschedules at all", jobOf({}, { ReschedulePolicy: { Attempts: 0, Unlimited: false, Delay: 0 } })],
    ["memory without an upper limit", jobOf({}, {}, { Resources: { MemoryMaxMB: -1 } })],
    ["signals", jobOf({}, {}, { KillSignal: "SIGUSR1" })],
  ])("accepts %s", (_what, job) => {
    expect(faults(job)).toEqual([]);
  });

  it("knows the namespaces and pools that it is told", () => {
    const job = canonicalizeJob(jobOf({ Namespace: "n", NodePool: "p" }));
    expect(validateJob(job, { namespaces: ["n"], nodePools: ["p"] }).errors).toEqual([]);
  });

  it("warns of services that stop at once, of groups without a main task and of more canaries than instances", () => {
    const job = canonicalizeJob(
      jobOf({}, { ...service({}), Update: { Canary: 3 } }, { Lifecycle: { Hook: "prestart" }, Leader: true }),
    );
    const { errors, warnings } = validateJob(job);
    expect(errors).toEqual([]);
    expect(warnings.join("\n")).toMatch(/canary is 3[\s\S]*no main task|no main task[\s\S]*/);
    expect(warnings).toHaveLength(4);
  });

  it("collects all faults with the names of group and task, and stops at 200", () => {
    const two = validateJob(canonicalizeJob(jobOf({ Type: "x" }, {}, { Driver: "" })));
    expect(two.errors.map((e) => e.message)).toContain('group "g", task "t": needs a driver');
    expect(two.errors.length).toBeGreaterThan(1);
    const many = Array.from({ length: 300 }, (_, i) => t(`t${i}`, { Driver: "" }));
    expect(validateJob(canonicalizeJob(jobOf({}, { Tasks: many }))).errors).toHaveLength(200);
  });

  it("shortens offending values", () => {
    const [error] = validateJob(canonicalizeJob(jobOf({ ID: "a".repeat(5000) }))).errors;
    expect(error?.value.length).toBeLessThan(130);
  });

  it("refuses what is too deep or too large before it looks closer", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 400; i += 1) deep = { a: deep };
    const job = canonicalizeJob(jobOf());
    const inner = job.TaskGroups?.[0]?.Tasks?.[0];
    if (inner === undefined) throw new Error("no task");
    inner.Config = { deep };
    expect(validateJob(job).errors.map((e) => e.code)).toEqual(["job-size"]);
    inner.Config = { wide: "x".repeat(5 * 1024 * 1024) };
    expect(validateJob(job).errors.map((e) => e.code)).toEqual(["job-size"]);
  });

  it("names what a stored job lacks", () => {
    const job = canonicalizeJob(jobOf());
    const group = job.TaskGroups?.[0];
    const task = group?.Tasks?.[0];
    if (group === undefined || task === undefined) throw new Error("no task");
    group.RestartPolicy = null;
    task.Resources = null;
    task.LogConfig = null;
    const codes = validateJob(job).errors.map((e) => e.code);
    expect(codes).toEqual(["restart-missing", "resources-missing", "logs-missing"]);
  });
});

describe("refuseUnsupported", () => {
  const refused = (job: JobInput, supported: (typeof OPTIONAL_FEATURES)[number][] = []): string[] =>
    refuseUnsupported(canonicalizeJob(job), { drivers: ["raw_exec"], supported }).map((e) => `${e.code} ${e.field}`);

  it("has nothing against a plain job", () => {
    expect(refused(jobOf())).toEqual([]);
    expect(refused(jobOf({}, { Networks: [{ Mode: "host" }] }))).toEqual([]);
  });

  it("says which drivers there are", () => {
    const [error] = refuseUnsupported(canonicalizeJob(jobOf({}, {}, { Driver: "docker" })), { drivers: ["raw_exec"] });
    expect(error).toMatchObject({
      code: "unsupported-driver",
      field: `${T}.Driver`,
      value: "docker",
      message: 'group "g", task "t": this client has no driver "docker" (it has raw_exec)',
    });
    expect(refuseUnsupported(canonicalizeJob(jobOf()), { drivers: [] })[0]?.message).toContain("(it has none)");
  });

  it.each<[string, JobInput]>([
    [
      "unsupported-csi-volume TaskGroups[0].Volumes.v.Type",
      jobOf({}, { Volumes: { v: { Type: "csi", Source: "s" } } }),
    ],
    ["unsupported-connect TaskGroups[0].Services[0].Connect", jobOf({}, service({ Connect: { Native: true } }))],
    ["unsupported-consul-service TaskGroups[0].Services[0].Provider", jobOf({}, service({ Provider: "consul" }))],
    ["unsupported-network-mode TaskGroups[0].Networks[0].Mode", jobOf({}, { Networks: [{ Mode: "bridge" }] })],
    ["unsupported-network-mode TaskGroups[0].Networks[0].Mode", jobOf({}, { Networks: [{ Mode: "cni/x" }] })],
    [
      "unsupported-network-dns TaskGroups[0].Networks[0].DNS",
      jobOf({}, { Networks: [{ DNS: { Servers: ["1.1.1.1"] } }] }),
    ],
    ["unsupported-network-hostname TaskGroups[0].Networks[0].Hostname", jobOf({}, { Networks: [{ Hostname: "h" }] })],
    ["unsupported-cni TaskGroups[0].Networks[0].CNI", jobOf({}, { Networks: [{ CNI: { Args: {} } }] })],
    ["unsupported-consul TaskGroups[0].Consul", jobOf({}, { Consul: {} })],
    [`unsupported-vault ${T}.Vault`, jobOf({}, {}, { Vault: {} })],
    [`unsupported-consul ${T}.Consul`, jobOf({}, {}, { Consul: {} })],
    [`unsupported-secret ${T}.Secrets`, jobOf({}, {}, { Secrets: [{ Name: "s" }] })],
    [`unsupported-csi-plugin ${T}.CSIPluginConfig`, jobOf({}, {}, { CSIPluginConfig: { ID: "p" } })],
    [`unsupported-kind ${T}.Kind`, jobOf({}, {}, { Kind: "connect-proxy:x" })],
    [`unsupported-device ${T}.Resources.Devices`, jobOf({}, {}, { Resources: { Devices: [{ Name: "gpu" }] } })],
    [`unsupported-numa ${T}.Resources.NUMA`, jobOf({}, {}, { Resources: { NUMA: { Affinity: "prefer" } } })],
    [`unsupported-task-network ${T}.Resources.Networks`, jobOf({}, {}, { Resources: { Networks: [{ MBits: 1 }] } })],
  ])("always refuses %s", (fault, job) => {
    expect(refused(job, [...OPTIONAL_FEATURES])).toContain(fault);
  });

  it.each<[(typeof OPTIONAL_FEATURES)[number], JobInput]>([
    ["action", jobOf({}, {}, { Actions: [{ Name: "a", Command: "c" }] })],
    ["artifact", jobOf({}, {}, { Artifacts: [{ GetterSource: "s" }] })],
    ["cores", jobOf({}, {}, { Resources: { Cores: 1 } })],
    ["dispatch-payload", jobOf({}, {}, { DispatchPayload: { File: "f" } })],
    ["host-volume", jobOf({}, { Volumes: { v: { Type: "host", Source: "s" } } })],
    ["identity", jobOf({}, {}, { Identities: [{ Name: "a" }] })],
    ["identity", jobOf({}, {}, { Identity: { Env: true } })],
    ["identity", jobOf({}, {}, { Identity: { File: true } })],
    ["multiregion", jobOf({ Multiregion: {} })],
    ["network-ports", jobOf({}, net({ Label: "a", Value: 1 }))],
    ["network-ports", jobOf({}, { Networks: [{ DynamicPorts: [{ Label: "a" }] }] })],
    ["nomad-service", jobOf({}, service({}))],
    ["nomad-service", jobOf({}, {}, service({}))],
    ["parameterized", jobOf({ Type: "batch", ParameterizedJob: {} })],
    ["periodic", jobOf({ Type: "batch", Periodic: { Spec: "@daily" } })],
    ["scaling", jobOf({}, { Scaling: { Max: 2 } })],
    ["scaling", jobOf({}, {}, { ScalingPolicies: [{ Max: 2 }] })],
    ["template", jobOf({}, {}, template({}))],
  ])("refuses %s unless it is supported", (feature, job) => {
    expect(refused(job).join()).toContain(`unsupported-${feature}`);
    expect(refused(job, [feature])).toEqual([]);
  });

  it("lets dispatched children of a parameterized job through", () => {
    expect(refused(jobOf({ Type: "batch", ParameterizedJob: {}, Dispatched: true }))).toEqual([]);
  });
});
