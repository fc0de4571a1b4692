import { describe, expect, it } from "vitest";
import {
  isSuccess,
  RestartTracker,
  type RestartPolicy,
  type RestartTrackerOptions,
} from "../../src/task/restart-tracker.ts";

const FAIL: RestartPolicy = { Attempts: 2, Interval: 60e9, Delay: 1e9, Mode: "fail" };
const DELAY: RestartPolicy = { ...FAIL, Mode: "delay" };
const NONE: RestartPolicy = { ...FAIL, Attempts: 0 };
const ok = { exitCode: 0, signal: 0, oomKilled: false };
const bad = { exitCode: 1, signal: 0, oomKilled: false };

function tracker(o: Partial<RestartTrackerOptions> = {}): RestartTracker {
  return new RestartTracker({ policy: FAIL, jobType: "service", nowMs: 0, random: () => 0, ...o });
}

describe("one decision", () => {
  const rows: Array<
    [title: string, options: Partial<RestartTrackerOptions>, set: (t: RestartTracker) => void, expected: object]
  > = [
    [
      "a kill wins over everything",
      {},
      (t) => (t.setExit(bad), t.setRestartTriggered(false), t.setKilled()),
      { kind: "killed" },
    ],
    [
      "a user's restart has no delay",
      { policy: NONE },
      (t) => (t.setExit(bad), t.setRestartTriggered(false)),
      { kind: "restarting", reason: "", delayNs: 0 },
    ],
    [
      "no attempts: a failed exit ends it",
      { policy: NONE },
      (t) => t.setExit(bad),
      { kind: "not-restarting", reason: "Policy allows no restarts" },
    ],
    [
      "no attempts: a service that exits 0 has failed (hashicorp/nomad#4034)",
      { policy: NONE },
      (t) => t.setExit(ok),
      { kind: "not-restarting", reason: "Policy allows no restarts" },
    ],
    [
      "no attempts: batch work that exits 0 is done",
      { policy: NONE, jobType: "batch" },
      (t) => t.setExit(ok),
      { kind: "terminated" },
    ],
    ["batch work that exits 0 is done", { jobType: "batch" }, (t) => t.setExit(ok), { kind: "terminated" }],
    ["sysbatch work that exits 0 is done", { jobType: "sysbatch" }, (t) => t.setExit(ok), { kind: "terminated" }],
    [
      "exit 0 with an error is a failure",
      { jobType: "batch" },
      (t) => t.setExit({ ...ok, error: "lost" }),
      { kind: "restarting", reason: "Restart within policy", delayNs: 1e9 },
    ],
    [
      "a service restarts on exit 0",
      {},
      (t) => t.setExit(ok),
      { kind: "restarting", reason: "Restart within policy", delayNs: 1e9 },
    ],
    [
      "a prestart task that exits 0 is done",
      { lifecycle: { hook: "prestart", sidecar: false } },
      (t) => t.setExit(ok),
      { kind: "terminated" },
    ],
    [
      "a sidecar restarts on exit 0",
      { lifecycle: { hook: "prestart", sidecar: true }, jobType: "batch" },
      (t) => t.setExit(ok),
      { kind: "restarting", reason: "Restart within policy", delayNs: 1e9 },
    ],
    [
      "a poststart task that exits 0 is done",
      { lifecycle: { hook: "poststart", sidecar: false } },
      (t) => t.setExit(ok),
      { kind: "terminated" },
    ],
    [
      "a poststop task that exits 0 is done",
      { lifecycle: { hook: "poststop", sidecar: false } },
      (t) => t.setExit(ok),
      { kind: "terminated" },
    ],
    [
      "an unrecoverable start error ends it",
      {},
      (t) => t.setStartError({ recoverable: false }),
      { kind: "not-restarting", reason: "Error was unrecoverable" },
    ],
    [
      "a recoverable start error restarts",
      {},
      (t) => t.setStartError({ recoverable: true }),
      { kind: "restarting", reason: "Restart within policy", delayNs: 1e9 },
    ],
    [
      "a failing check goes through the policy",
      { policy: NONE },
      (t) => (t.setRestartTriggered(true), t.setExit(bad)),
      { kind: "not-restarting", reason: "Policy allows no restarts" },
    ],
    ["no fact at all restarts at once", {}, () => undefined, { kind: "restarting", reason: "", delayNs: 0 }],
  ];
  for (const [title, options, set, expected] of rows) {
    it(title, () => {
      const t = tracker(options);
      set(t);
      expect(t.next(0)).toEqual(expected);
    });
  }
});

describe("attempts within an interval", () => {
  it("ends after the allowed restarts, and counts them all whatever the run time (Unitech/pm2#1676)", () => {
    const t = tracker();
    const kinds = [0, 10, 20].map((ms) => {
      t.setExit(bad);
      return t.next(ms);
    });
    expect(kinds.map((d) => d.kind)).toEqual(["restarting", "restarting", "not-restarting"]);
    expect(kinds[2]).toMatchObject({ reason: 'Exceeded allowed attempts 2 in interval 1m0s and mode is "fail"' });
  });

  it("begins anew after the interval: no extra restart at its edge (hashicorp/nomad#5737)", () => {
    const t = tracker();
    for (const ms of [1, 2]) {
      t.setExit(bad);
      t.next(ms);
    }
    t.setExit(bad);
    expect(t.next(60_000).kind).toBe("not-restarting");
    const u = tracker();
    for (const ms of [1, 2]) {
      u.setExit(bad);
      u.next(ms);
    }
    u.setExit(bad);
    expect(u.next(60_001).kind).toBe("restarting");
    expect(u.count).toEqual({ count: 1, startMs: 60_001 });
  });

  it("in mode delay waits for the rest of the interval", () => {
    const t = tracker({ policy: DELAY });
    for (const ms of [0, 10]) {
      t.setExit(bad);
      t.next(ms);
    }
    t.setExit(bad);
    expect(t.next(20_000)).toEqual({
      kind: "restarting",
      reason: "Exceeded allowed attempts, applying a delay",
      delayNs: 40e9,
    });
  });

  it("takes up the count of a former process", () => {
    const t = tracker();
    t.restore({ count: 2, startMs: 0 });
    t.setExit(bad);
    expect(t.next(5).kind).toBe("not-restarting");
  });

  it("keeps its count when the policy changes", () => {
    const t = tracker();
    t.setExit(bad);
    t.next(0);
    t.update({ policy: { ...FAIL, Attempts: 1 }, jobType: "service" });
    t.setExit(bad);
    expect(t.next(1).kind).toBe("not-restarting");
  });
});

it("adds up to a quarter of the delay at random", () => {
  const t = tracker({ random: () => 0.999_999_999 });
  t.setExit(bad);
  const d = t.next(0);
  expect(d.kind === "restarting" && d.delayNs).toBe(1e9 + Math.trunc(0.25 * 999_999_999));
});

it("counts a delay of 0 as one nanosecond", () => {
  const t = tracker({ policy: { ...FAIL, Delay: 0 } });
  t.setExit(bad);
  expect(t.next(0)).toMatchObject({ delayNs: 1 });
});

it("forgets facts with each decision", () => {
  const t = tracker();
  t.setKilled();
  expect(t.isKilled).toBe(true);
  t.next(0);
  expect(t.isKilled).toBe(false);
  t.setExit(bad);
  expect(t.next(0).kind).toBe("restarting");
});

it("calls only a plain exit 0 a success", () => {
  expect(isSuccess(ok)).toBe(true);
  expect(isSuccess({ ...ok, error: "" })).toBe(true);
  expect(isSuccess({ ...ok, signal: 9 })).toBe(false);
  expect(isSuccess(bad)).toBe(false);
});
