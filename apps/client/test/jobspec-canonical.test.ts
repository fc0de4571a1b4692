import { readFileSync } from "node:fs";
import { encode, JobStruct, type Job, type JobInput } from "@outrider/nomad-structs";
import { describe, expect, it } from "vitest";
import { canonicalizeJob, validateJob } from "../src/jobspec/index.ts";

interface Pair {
  readonly submitted: JobInput;
  readonly stored: Job;
}

const pairs = JSON.parse(
  readFileSync(new URL("fixtures/jobspec/submitted-and-stored.json", import.meta.url), "utf8"),
) as Pair[];

/** What only a server can know. */
const SERVER_KEYS = [
  "Status",
  "Stable",
  "Version",
  "SubmitTime",
  "CreateIndex",
  "ModifyIndex",
  "JobModifyIndex",
  "Stop",
];

function withoutServerKeys(job: object): object {
  return Object.fromEntries(Object.entries(job).filter(([key]) => !SERVER_KEYS.includes(key)));
}

const task = { Name: "t", Driver: "raw_exec", Config: { command: "/bin/true" } };
const jobOf = (job: JobInput, group: object = {}, more: object = {}): JobInput => ({
  ID: "x",
  ...job,
  TaskGroups: [{ Name: "g", Tasks: [{ ...task, ...more }], ...group }],
});

describe("canonicalizeJob", () => {
  it.each(pairs.map((pair, i) => [`${i} ${pair.submitted.ID}`, pair] as const))(
    "makes of the submitted job %s what a stock server stored",
    (_name, { submitted, stored }) => {
      const got = encode(JobStruct, canonicalizeJob(submitted));
      expect(withoutServerKeys(got)).toEqual(withoutServerKeys(stored));
    },
  );

  it("gives the same job when it is run again", () => {
    for (const { submitted } of pairs) {
      const once = canonicalizeJob(submitted);
      expect(canonicalizeJob(once as JobInput)).toEqual({ ...once, Update: once.Update });
    }
  });

  it("does not change the submitted job", () => {
    for (const { submitted } of pairs) {
      const before = structuredClone(submitted);
      canonicalizeJob(submitted);
      expect(submitted).toEqual(before);
    }
  });

  it("accepts what a stock server accepted", () => {
    for (const { submitted } of pairs) expect(validateJob(canonicalizeJob(submitted)).errors).toEqual([]);
  });

  it("fills in resources: 100 MHz and 300 MB, no MHz beside cores", () => {
    const of = (resources: object | null): object | null | undefined =>
      canonicalizeJob(jobOf({}, {}, { Resources: resources })).TaskGroups?.[0]?.Tasks?.[0]?.Resources;
    expect(of(null)).toMatchObject({ CPU: 100, MemoryMB: 300, Cores: 0 });
    expect(of({ CPU: 20 })).toMatchObject({ CPU: 20, MemoryMB: 300 });
    expect(of({ Cores: 2 })).toMatchObject({ CPU: 0, Cores: 2, MemoryMB: 300 });
  });

  it("merges the policies of the job into its groups, and those of a group into its tasks", () => {
    const job = canonicalizeJob(
      jobOf(
        { Update: { MaxParallel: 3, Canary: 1 }, Reschedule: { Delay: 9e9 }, Migrate: { MaxParallel: 2 } },
        { Update: { Canary: 2 }, RestartPolicy: { Attempts: 7 } },
        { RestartPolicy: { Mode: "delay" } },
      ),
    );
    const group = job.TaskGroups?.[0];
    expect(group?.Update).toMatchObject({ MaxParallel: 3, Canary: 2, HealthCheck: "checks" });
    expect(job.Update).toMatchObject({ MaxParallel: 3, Canary: 0 });
    expect(group?.ReschedulePolicy).toMatchObject({ Delay: 9e9, Unlimited: true });
    expect(group?.Migrate).toMatchObject({ MaxParallel: 2 });
    expect(group?.Tasks?.[0]?.RestartPolicy).toMatchObject({ Attempts: 7, Mode: "delay", Interval: 1800e9 });
  });

  it("leaves system jobs without reschedule and migrate", () => {
    const group = canonicalizeJob(jobOf({ Type: "system" })).TaskGroups?.[0];
    expect(group).toMatchObject({ ReschedulePolicy: null, Migrate: null });
    expect(group?.RestartPolicy?.Attempts).toBe(2);
    expect(canonicalizeJob(jobOf({ Type: "sysbatch" })).TaskGroups?.[0]?.RestartPolicy?.Attempts).toBe(3);
  });

  it("keeps zero where it was given", () => {
    const group = canonicalizeJob(jobOf({}, { Count: 0, RestartPolicy: { Attempts: 0 } })).TaskGroups?.[0];
    expect(group?.Count).toBe(0);
    expect(group?.RestartPolicy?.Attempts).toBe(0);
  });

  it("takes max_parallel = 0 as written, which turns deployments off", () => {
    expect(canonicalizeJob(jobOf({ Update: { MaxParallel: 0 } })).TaskGroups?.[0]?.Update?.MaxParallel).toBe(0);
  });

  it("asks the node for what tasks need without saying so", () => {
    const group = canonicalizeJob(
      jobOf(
        {},
        { Constraints: [{ LTarget: "${meta.a}", Operand: "=", RTarget: "b" }] },
        {
          KillSignal: "SIGTERM",
          Templates: [{ ChangeMode: "signal", ChangeSignal: "sighup", DestPath: "local/a", EmbeddedTmpl: "x" }],
          Schedule: { Cron: { Start: "0 9 * * * *", End: "0 17" } },
        },
      ),
    ).TaskGroups?.[0];
    expect(group?.Constraints).toEqual([
      { LTarget: "${meta.a}", Operand: "=", RTarget: "b" },
      { LTarget: "${attr.os.signals}", Operand: "set_contains", RTarget: "SIGHUP,SIGTERM" },
      { LTarget: "${attr.nomad.version}", Operand: "semver", RTarget: ">= 1.8.0-dev" },
    ]);
  });

  it("names services and checks after where they are", () => {
    const service = {
      PortLabel: "80",
      Provider: "nomad",
      CheckRestart: { Limit: 3 },
      Checks: [{ Type: "tcp" }, { Name: "${TASK}-ping" }],
    };
    const job = canonicalizeJob(jobOf({}, { Services: [{ ...service, Name: "${JOB}-api" }] }, { Services: [service] }));
    const group = job.TaskGroups?.[0];
    expect(group?.Services?.[0]).toMatchObject({ Name: "x-api", Namespace: "default", TaskName: "" });
    const own = group?.Tasks?.[0]?.Services?.[0];
    expect(own).toMatchObject({ Name: "x-g-t", TaskName: "t", Cluster: "default", AddressMode: "auto" });
    expect(own?.Checks?.[0]).toMatchObject({
      Name: 'service: "x-g-t" check',
      OnUpdate: "require_healthy",
      CheckRestart: { Limit: 3, Grace: 1e9, IgnoreWarnings: false },
    });
    expect(own?.Checks?.[1]?.Name).toBe("t-ping");
    expect(canonicalizeJob(jobOf({}, { Services: [{ Name: "a" }] })).TaskGroups?.[0]?.Services?.[0]?.Provider).toBe(
      "consul",
    );
  });

  it("fills in small parts", () => {
    const job = canonicalizeJob({
      ...jobOf(
        {
          Type: "batch",
          Periodic: { Spec: "@daily" },
          Affinities: [{ LTarget: "a", RTarget: "b", Operand: "=" }],
          Spreads: [{ Attribute: "a" }],
        },
        { Disconnect: { LostAfter: 1 }, EphemeralDisk: { Sticky: true }, Scaling: { Max: 4 }, Count: null },
        {
          Artifacts: [{ GetterSource: "s" }],
          VolumeMounts: [{ Volume: "v", Destination: "/d" }],
          Identity: { Env: true },
          LogConfig: { Enabled: false },
        },
      ),
      ParameterizedJob: {},
    });
    expect(job.Periodic).toMatchObject({ Enabled: true, SpecType: "cron", TimeZone: "UTC" });
    expect(job.ParameterizedJob?.Payload).toBe("optional");
    expect(job.Affinities?.[0]?.Weight).toBe(50);
    expect(job.Spreads?.[0]?.Weight).toBe(50);
    const group = job.TaskGroups?.[0];
    expect(group).toMatchObject({
      Count: 1,
      Disconnect: { LostAfter: 1, Replace: true, Reconcile: "best_score" },
      EphemeralDisk: { Sticky: true, SizeMB: 300 },
      Scaling: {
        Type: "horizontal",
        Enabled: true,
        Min: 1,
        Max: 4,
        Target: { Job: "x", Group: "g", Namespace: "default" },
      },
    });
    expect(group?.Tasks?.[0]).toMatchObject({
      Artifacts: [{ GetterMode: "any", RelativeDest: "local/" }],
      VolumeMounts: [{ PropagationMode: "private" }],
      Identity: { Name: "default", Audience: ["nomadproject.io"], Env: true },
      LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: true },
    });
  });

  it("takes an empty job", () => {
    expect(canonicalizeJob({})).toMatchObject({ ID: "", Type: "service", Priority: 50, TaskGroups: null });
    expect(
      canonicalizeJob({ ID: "a", TaskGroups: [null, { Tasks: [null] }] } as unknown as JobInput).TaskGroups,
    ).toHaveLength(2);
  });
});
