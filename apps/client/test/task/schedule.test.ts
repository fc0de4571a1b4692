import { describe, expect, it } from "vitest";
import { Harness, oneTask } from "../alloc/support/harness.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** 2026-06-10 is a Wednesday. */
const at = (text: string): number => Date.parse(`2026-06-10T${text}Z`);
const nineToFive = { Schedule: { Cron: { Start: "0 9 * * * *", End: "0 17", Timezone: "UTC" } } };

async function scheduled(
  start: string,
  o: { task?: object; script?: string; job?: object; group?: object; config?: object } = {},
): Promise<Harness> {
  const job = oneTask(o.script ?? "exec sleep 900000", {
    task: { ...nineToFive, ...o.task },
    ...(o.job ? { job: o.job } : {}),
    ...(o.group ? { group: o.group } : {}),
  });
  return new Harness({ job, startAt: at(start), ...(o.config ? { config: o.config } : {}) }).agent();
}

const texts = (h: Harness): string[] =>
  h.events().map((e) => (/^(Pausing|Running)$/.test(e.Type) ? e.DisplayMessage : e.Type));

describe("the window", () => {
  it("lets a task that is placed inside it start without a word", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    expect(texts(h)).toEqual(["Received", "Task Setup", "Started"]);
    expect(h.state().Paused).toBe("");
  });

  it("keeps a task that is placed outside it pending, and starts it at the opening", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    expect(texts(h)).toEqual(["Received", "Task Setup", "Pausing due to schedule"]);
    expect([h.status, h.state().Paused]).toEqual(["pending", "scheduled_pause"]);
    expect(h.runner.allocState().clientDescription).toBe("No tasks have started");
    await h.clock.advance(HOUR - 200);
    expect(h.machine.starts).toHaveLength(0);
    await h.clock.advance(200);
    expect(texts(h).slice(3)).toEqual(["Running due to schedule", "Started"]);
    expect([h.status, h.state().Paused]).toEqual(["running", ""]);
  });

  it("stops the task at its end within a second, and waits for the next one without a second event", async () => {
    const h = await scheduled("16:59:00");
    await h.clock.advance(MINUTE + 1_000);
    expect(texts(h)).toEqual([
      "Received",
      "Task Setup",
      "Started",
      "Pausing due to schedule",
      "Terminated",
      "Restarting",
    ]);
    expect(h.events().at(-1)?.DisplayMessage).toBe("Task restarting in 0s");
    expect(h.machine.running()).toHaveLength(0);
    expect([h.status, h.state().Paused, h.state().Restarts]).toEqual(["pending", "scheduled_pause", 1]);
    await h.clock.advance(16 * HOUR);
    expect(texts(h).slice(6)).toEqual(["Running due to schedule", "Started"]);
    expect(h.logCalls).not.toContain("stop main");
  });

  it.each([
    ["no restarts at all", { RestartPolicy: { Attempts: 0, Interval: 0, Delay: 0, Mode: "fail" } }, {}],
    ["a batch job that exits 0 when stopped", {}, { Type: "batch" }],
  ])("restarts whatever the policy: %s", async (_title, task, job) => {
    const h = await scheduled("16:59:00", { task, job });
    await h.clock.advance(2 * MINUTE);
    expect(h.types().slice(-3)).toEqual(["Pausing", "Terminated", "Restarting"]);
    expect(h.state().Failed).toBe(false);
    await h.clock.advance(24 * HOUR);
    expect(h.machine.starts).toHaveLength(2);
  });

  it("does not count towards the attempts (hashicorp/nomad#25085)", async () => {
    const h = await scheduled("16:59:00", { script: "sleep 90000; exit 1" });
    for (let day = 0; day < 5; day++) await h.clock.advance(24 * HOUR);
    expect(h.state().Failed).toBe(false);
    expect(h.state().Restarts).toBe(5);
  });

  it("takes a stop that needs force: kill_timeout is honoured and the exit code means nothing (R-7)", async () => {
    const h = await scheduled("16:59:00", {
      script: "trap '' INT TERM; while true; do sleep 0.2; done",
      task: { KillTimeout: 2e9 },
    });
    await h.clock.advance(MINUTE + 500);
    expect(h.types().at(-1)).toBe("Pausing");
    await h.clock.advance(2_000);
    expect(
      h
        .events()
        .slice(-2)
        .map((e) => e.DisplayMessage),
    ).toEqual(["Exit Code: 137, Signal: 9", "Task restarting in 0s"]);
    expect(h.state().Failed).toBe(false);
  });

  it("does not wait for shutdown_delay unless told to (R-6)", async () => {
    const quick = await scheduled("16:59:00", { task: { ShutdownDelay: 60e9 } });
    await quick.clock.advance(MINUTE + 1_000);
    expect(quick.machine.running()).toHaveLength(0);
    const slow = await scheduled("16:59:00", {
      task: { ShutdownDelay: 60e9 },
      config: { honorShutdownDelayOnPause: true },
    });
    await slow.clock.advance(MINUTE + 1_000);
    expect(slow.machine.running()).toHaveLength(1);
    await slow.clock.advance(MINUTE);
    expect(slow.machine.running()).toHaveLength(0);
  });

  it("leaves a task that ended by itself dead", async () => {
    const h = await scheduled("16:00:00", { script: "sleep 1; exit 0", job: { Type: "batch" } });
    await h.clock.advance(24 * HOUR);
    await h.done();
    expect(h.types()).toEqual(["Received", "Task Setup", "Started", "Terminated"]);
    expect(h.status).toBe("complete");
  });

  it("holds a task whose restart delay runs when it closes", async () => {
    const h = await scheduled("16:59:30", {
      script: "sleep 25; exit 1",
      task: { RestartPolicy: { Attempts: 3, Interval: 3600e9, Delay: 20e9, Mode: "fail" } },
    });
    await h.clock.advance(5 * MINUTE);
    expect(h.machine.starts).toHaveLength(1);
    expect(texts(h).at(-1)).toBe("Pausing due to schedule");
    await h.clock.advance(16 * HOUR);
    expect(h.machine.starts.length).toBeGreaterThan(1);
  });

  it("does not flap when the wall clock goes back a minute over its edge, but follows a large step", async () => {
    const h = await scheduled("16:59:00");
    await h.clock.advance(MINUTE + 100);
    expect(h.machine.running()).toHaveLength(0);
    h.clock.setWall(at("16:59:10"));
    await h.clock.advance(30_000);
    expect(h.machine.running()).toHaveLength(0);
    // Far from an edge the clock is read every six hours.
    h.clock.setWall(at("04:00:00"));
    await h.clock.advance(7 * HOUR);
    expect(h.machine.starts).toHaveLength(2);
  });

  it("sees a clock that was set over its opening", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    h.clock.setWall(at("09:30:00"));
    await h.clock.advance(MINUTE);
    expect(h.status).toBe("running");
  });
});

describe("a schedule that cannot be used", () => {
  it.each([
    ["a block without cron", { Schedule: { Cron: null } }, "must specify cron block"],
    [
      "an unknown zone",
      { Schedule: { Cron: { Start: "0 9 * * * *", End: "0 17", Timezone: "Mars/Base" } } },
      "Mars/Base",
    ],
    [
      "bad meta",
      { Schedule: null, Meta: { outrider_schedule_start: "nonsense", outrider_schedule_end: "0 17" } },
      "start-fields",
    ],
    ["half of the meta", { Schedule: null, Meta: { outrider_schedule_end: "0 17" } }, "outrider_schedule_start"],
    [
      "the other half of the meta",
      { Schedule: null, Meta: { outrider_schedule_start: "0 9 * * * *" } },
      "outrider_schedule_end",
    ],
    [
      "only a zone in the meta",
      { Schedule: null, Meta: { outrider_schedule_timezone: "UTC" } },
      "outrider_schedule_timezone",
    ],
    ["meta that is no JSON", { Schedule: null, Meta: { outrider_schedule_json: "{" } }, "outrider_schedule_json"],
  ])("fails the task with the reason: %s", async (_title, task, text) => {
    const h = await scheduled("10:00:00", { task });
    await h.clock.advance(100);
    expect(h.types()).toEqual(["Received", "Task Setup", "Failed Validation", "Not Restarting"]);
    expect(h.events()[2]?.DisplayMessage).toContain(text);
    expect(h.state().Failed).toBe(true);
    expect(h.machine.starts).toHaveLength(0);
  });
});

describe("a schedule in the task's meta (R-16)", () => {
  it("works like the block", async () => {
    const meta = {
      outrider_schedule_start: "0 9 * * * *",
      outrider_schedule_end: "0 17",
      outrider_schedule_timezone: "UTC",
    };
    const h = await scheduled("08:00:00", { task: { Schedule: null, Meta: meta } });
    await h.clock.advance(100);
    expect(h.state().Paused).toBe("scheduled_pause");
    await h.clock.advance(HOUR);
    expect(h.status).toBe("running");
  });

  it("is overruled by the block", async () => {
    const meta = {
      outrider_schedule_start: "0 9 * * * *",
      outrider_schedule_end: "0 10",
      outrider_schedule_timezone: "UTC",
    };
    const h = await scheduled("12:00:00", { task: { Meta: meta } });
    await h.clock.advance(100);
    expect(h.status).toBe("running");
  });

  it("may have several windows", async () => {
    const windows = [
      { start: "0 9 * * * *", end: "0 10", timezone: "UTC" },
      { start: "0 22 * * * *", end: "0 2", timezone: "UTC" },
    ];
    const h = await scheduled("23:00:00", {
      task: { Schedule: null, Meta: { outrider_schedule_json: JSON.stringify({ windows }) } },
    });
    await h.clock.advance(100);
    expect(h.status).toBe("running");
  });
});

it("a schedule without a further window pauses for good, with a warning", async () => {
  const warnings: unknown[] = [];
  const logger = {
    trace() {},
    debug() {},
    info() {},
    error() {},
    warn: (...args: unknown[]) => void warnings.push(args),
    child: () => logger,
  };
  const h = await scheduled("10:00:00", {
    task: { Schedule: { Cron: { Start: "0 9 * * * 2025", End: "0 17", Timezone: "UTC" } } },
    config: { logger },
  });
  await h.clock.advance(100);
  expect(h.state().Paused).toBe("scheduled_pause");
  expect(h.clock.pending).toHaveLength(0);
  expect(warnings).toHaveLength(1);
});

describe("overrides", () => {
  it("pause a running task, run it again, and give it back to its schedule", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_pause");
    expect(h.runner.getTaskPauseState("main")).toBe("force_pause");
    await h.clock.advance(1_000);
    expect(texts(h).slice(3)).toEqual(["Pausing due to override", "Terminated", "Restarting"]);
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.advance(1_000);
    expect(texts(h).slice(6)).toEqual(["Running due to override", "Started"]);
    await h.runner.setTaskPauseState("", "schedule_resume");
    expect(h.runner.getTaskPauseState("")).toBe("");
    await h.clock.advance(1_000);
    expect(texts(h).slice(8)).toEqual(["Running due to schedule"]);
    expect(h.machine.running()).toHaveLength(1);
  });

  it("run a task outside its window until the schedule has it back", async () => {
    const h = await scheduled("18:00:00");
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.advance(24 * HOUR);
    expect(h.machine.starts).toHaveLength(1);
    await h.runner.setTaskPauseState("main", "");
    expect(h.runner.getTaskPauseState("main")).toBe("scheduled_pause");
    await h.clock.advance(1_000);
    expect(h.machine.running()).toHaveLength(0);
  });

  it("are no news when asked for twice", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.flush();
    const before = h.types();
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.flush();
    expect(h.types()).toEqual(before);
  });

  it("let a stop under way finish before the task starts again", async () => {
    const h = await scheduled("10:00:00", {
      script: "trap '' INT TERM; while true; do sleep 0.2; done",
      task: { KillTimeout: 5e9 },
    });
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_pause");
    await h.clock.advance(1_000);
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.advance(10_000);
    expect(h.machine.starts).toHaveLength(2);
    expect(h.machine.running()).toHaveLength(1);
    expect(h.runner.getTaskPauseState("main")).toBe("force_run");
  });

  it("work on a task without a schedule (R-14)", async () => {
    const h = await scheduled("10:00:00", { task: { Schedule: null } });
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_pause");
    await h.clock.advance(1_000);
    expect(h.status).toBe("pending");
    await h.runner.setTaskPauseState("main", "schedule_resume");
    expect(h.runner.getTaskPauseState("main")).toBe("");
    await h.clock.advance(1_000);
    expect(h.status).toBe("running");
  });

  it("hold a task that has not come to its gate yet", async () => {
    let ready: () => void = () => undefined;
    const slow = { name: "slow", prestart: () => new Promise<void>((resolve) => (ready = resolve)) };
    const h = await scheduled("10:00:00", { config: { extraTaskHooks: () => [slow] } });
    await h.runner.setTaskPauseState("main", "force_pause");
    ready();
    await h.clock.advance(1_000);
    expect(h.machine.starts).toHaveLength(0);
    expect(h.state().Paused).toBe("force_pause");
  });

  it("reach the server: each change sends an update", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    const before = h.updates.length;
    await h.runner.setTaskPauseState("main", "force_pause");
    await h.clock.flush();
    expect(h.updates.length).toBeGreaterThan(before);
    expect(h.updates.at(-1)?.TaskStates?.["main"]?.Paused).toBe("force_pause");
  });

  it("refuse other words, unknown tasks and dead tasks", async () => {
    const h = await scheduled("10:00:00", { script: "exit 0", job: { Type: "batch" } });
    await h.clock.advance(1_000);
    await expect(h.runner.setTaskPauseState("main", "scheduled_pause" as never)).rejects.toThrow(
      "not a valid task schedule state",
    );
    await expect(h.runner.setTaskPauseState("nope", "force_run")).rejects.toThrow(
      "Could not find task runner for task: nope",
    );
    await expect(h.runner.setTaskPauseState("main", "force_run")).rejects.toThrow("Task not running");
  });

  it("of an allocation with several main tasks need a name when they differ", async () => {
    const task = (name: string): object => ({
      Name: name,
      Driver: "raw_exec",
      KillTimeout: 5e9,
      Config: { command: "/bin/sh", args: ["-c", "exec sleep 600"] },
    });
    const h = await new Harness({ job: oneTask("", { group: { Tasks: [task("a"), task("b")] } }) }).agent();
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("", "force_pause");
    expect(h.runner.getTaskPauseState("")).toBe("force_pause");
    await h.runner.setTaskPauseState("a", "force_run");
    expect(() => h.runner.getTaskPauseState("")).toThrow('a: "force_run", b: "force_pause"');
  });
});

describe("stops, restarts and signals of a paused task", () => {
  it("ends the gate at once", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    h.stop();
    await h.clock.flush();
    await h.done();
    expect(texts(h)).toEqual(["Received", "Task Setup", "Pausing due to schedule", "Killing"]);
    expect(h.status).toBe("complete");
    expect(h.clock.pending.filter((t) => t.ref)).toHaveLength(0);
  });

  it("refuses restarts and signals", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    await expect(h.runner.restartTask("main", { type: "Restart Signaled" })).rejects.toThrow("Task not running");
    await expect(h.runner.signal("main", "SIGHUP")).rejects.toThrow("Task not running");
    expect(h.runner.taskExecHandler("main")).toBeUndefined();
  });
});

describe("updates of the job", () => {
  const setCron =
    (start: string, end: string) =>
    (job: { TaskGroups: unknown }): void => {
      const groups = job.TaskGroups as Array<{ Tasks: Array<{ Schedule: unknown }> }>;
      groups[0]!.Tasks[0]!.Schedule = start === "" ? null : { Cron: { Start: start, End: end, Timezone: "UTC" } };
    };

  it("move the window away and back", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    h.updateJob(setCron("0 20 * * * *", "0 21"));
    await h.clock.advance(1_000);
    expect(texts(h).slice(3)).toEqual(["Pausing due to schedule", "Terminated", "Restarting"]);
    h.updateJob(setCron("0 9 * * * *", "0 17"));
    await h.clock.advance(1_000);
    expect(texts(h).slice(6)).toEqual(["Running due to schedule", "Started"]);
  });

  it("that remove the schedule let the task run", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    h.updateJob(setCron("", ""));
    await h.clock.advance(1_000);
    expect(h.status).toBe("running");
    expect(h.state().Paused).toBe("");
  });

  it("leave overrides alone (R-8)", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_run");
    h.updateJob(setCron("0 20 * * * *", "0 21"));
    await h.clock.advance(HOUR);
    expect(h.state().Paused).toBe("force_run");
    expect(h.machine.starts).toHaveLength(1);
  });

  it("with a bad schedule keep the old one and say so", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    h.updateJob(setCron("nonsense", "0 21"));
    await h.clock.advance(1_000);
    expect(h.events().at(-1)?.DisplayMessage).toMatch(/^pause: schedule: /);
    expect(h.status).toBe("running");
  });
});

describe("over a restart of the agent (R-10)", () => {
  it("keeps overrides", async () => {
    const h = await scheduled("18:00:00");
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_run");
    await h.clock.advance(1_000);
    h.killAgent();
    await h.agent({ restore: true });
    await h.clock.advance(HOUR);
    expect(h.state().Paused).toBe("force_run");
    expect(h.machine.starts).toHaveLength(1);
  });

  it("reattaches inside the window without events", async () => {
    const h = await scheduled("10:00:00");
    await h.clock.advance(100);
    h.killAgent();
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(texts(h)).toEqual(["Received", "Task Setup", "Started"]);
    expect(h.machine.starts).toHaveLength(1);
  });

  it("stops a live task whose window ended meanwhile", async () => {
    const h = await scheduled("16:59:00");
    await h.clock.advance(100);
    h.killAgent();
    await h.clock.advance(HOUR);
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(texts(h).slice(3)).toEqual(["Pausing due to schedule", "Terminated", "Restarting"]);
    expect(h.machine.running()).toHaveLength(0);
  });

  it("stops a live task that was to be paused when the agent died", async () => {
    const h = await scheduled("10:00:00", { script: "trap '' INT TERM; while true; do sleep 0.2; done" });
    await h.clock.advance(100);
    await h.runner.setTaskPauseState("main", "force_pause");
    await h.clock.flush();
    h.killAgent();
    await h.agent({ restore: true });
    await h.clock.advance(10_000);
    expect(h.machine.running()).toHaveLength(0);
    expect(h.types().filter((t) => t === "Pausing")).toHaveLength(1);
    expect(h.state().Paused).toBe("force_pause");
  });

  it("waits at the gate again without a second event, and opens it in time", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    h.killAgent();
    await h.clock.advance(10 * MINUTE);
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(h.types().filter((t) => t === "Pausing")).toHaveLength(1);
    await h.clock.advance(HOUR);
    expect(h.status).toBe("running");
  });

  it("starts a task whose window opened meanwhile", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    h.killAgent();
    await h.clock.advance(2 * HOUR);
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(texts(h).slice(3)).toEqual(["Running due to schedule", "Started"]);
  });

  it("writes nothing at an orderly shutdown at the gate", async () => {
    const h = await scheduled("08:00:00");
    await h.clock.advance(100);
    const before = JSON.stringify(h.store.list("allocations/"));
    h.runner.shutdown();
    await h.runner.shutdownDone;
    expect(JSON.stringify(h.store.list("allocations/"))).toBe(before);
  });
});
