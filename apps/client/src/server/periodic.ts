import { nextCron, parseCron } from "@outrider/cron-schedule";
import type { Job } from "@outrider/nomad-structs";
import { launchPeriodic } from "./children.ts";
import { jobKey, type Tables } from "./tables.ts";
import type { Tx } from "./tx.ts";

/** The next launch of a periodic job strictly after a time, epoch ms; undefined when there is none. */
export function nextLaunchMs(job: Job, afterMs: number): number | undefined {
  const periodic = job.Periodic;
  if (periodic === null || !periodic.Enabled || job.Stop) return undefined;
  const specs =
    periodic.Specs !== null && periodic.Specs.length > 0 ? periodic.Specs : periodic.Spec === "" ? [] : [periodic.Spec];
  const zone = periodic.TimeZone === "" ? "UTC" : periodic.TimeZone;
  return nextCron(
    specs.map((spec) => parseCron(spec, { timezone: zone })),
    afterMs,
  )?.getTime();
}

/** The schedule is looked at with every step of the scheduler; jobs are never changed in place, so what was found stays true. */
const found = new WeakMap<Job, { readonly afterMs: number; readonly nextMs: number | undefined }>();

function cachedNextLaunchMs(job: Job, afterMs: number): number | undefined {
  const known = found.get(job);
  if (known?.afterMs === afterMs) return known.nextMs;
  const nextMs = nextLaunchMs(job, afterMs);
  found.set(job, { afterMs, nextMs });
  return nextMs;
}

/** When each periodic job is due: after its last launch, or after it was submitted. */
export function dueLaunches(tables: Tables): Array<{ readonly job: Job; readonly atMs: number }> {
  const due: Array<{ job: Job; atMs: number }> = [];
  for (const job of tables.jobs.by("periodic", "yes")) {
    const last = tables.launches.get(jobKey(job.Namespace, job.ID))?.LaunchMs ?? 0;
    const atMs = cachedNextLaunchMs(job, Math.max(last, job.SubmitTime / 1_000_000));
    if (atMs !== undefined) due.push({ job, atMs });
  }
  return due;
}

/** Launches what is due. Times that passed while the agent was down are made up for by one launch, not by one each. */
export function launchDue(tx: Tx, tables: Tables, newId: () => string): void {
  for (const { job, atMs } of dueLaunches(tables)) {
    if (atMs > tx.nowMs) continue;
    let latest = atMs;
    for (
      let next = nextLaunchMs(job, latest);
      next !== undefined && next <= tx.nowMs;
      next = nextLaunchMs(job, latest)
    ) {
      latest = next;
      // A long absence: go on from an hour ago instead of counting every minute of it.
      if (tx.nowMs - latest > 7_200_000) latest = tx.nowMs - 3_600_000;
    }
    if (
      job.Periodic?.ProhibitOverlap === true &&
      tx.jobs.by("parent", jobKey(job.Namespace, job.ID)).some((child) => child.Status !== "dead")
    ) {
      tx.launches.put(jobKey(job.Namespace, job.ID), { Namespace: job.Namespace, ID: job.ID, LaunchMs: latest });
    } else {
      launchPeriodic(tx, job, latest, newId);
    }
  }
}
