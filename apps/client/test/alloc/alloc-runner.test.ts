import { RecoverableError, TaskNotFoundError } from "@outrider/plugin-driver";
import { describe, expect, it } from "vitest";
import { fakeAllocDir } from "./support/fake-alloc-dir.ts";
import { ALLOC_ID, Harness, oneTask } from "./support/harness.ts";

const restartEvent = (reason: string) => ({ type: "Restart Signaled", facts: { reason } }) as const;
const task = (name: string, script: string, more: object = {}): object => ({
  Name: name,
  Driver: "raw_exec",
  KillTimeout: 5e9,
  Config: { command: "/bin/sh", args: ["-c", script] },
  ...more,
});
const side = { Lifecycle: { Hook: "prestart", Sidecar: true } };
const clean = { Lifecycle: { Hook: "poststop", Sidecar: false } };
const group = (tasks: object[], more: object = {}): unknown => oneTask("", { group: { Tasks: tasks, ...more } });
const at = (h: Harness, name: string, type: string): number =>
  h.events(name).find((e) => e.Type === type)?.Time ?? Number.NaN;

describe("a service task", () => {
  it("runs from receipt to a clean stop", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    expect(h.types()).toEqual(["Received", "Task Setup", "Started"]);
    expect(h.status).toBe("running");
    h.stop();
    await h.clock.advance(100);
    await h.done();
    expect(h.types()).toEqual(["Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"]);
    expect(h.status).toBe("complete");
    expect(h.logCalls).toEqual(["start main", "stop main"]);
    expect(h.counts).toEqual(["main running", "main complete"]);
    expect(h.machine.processes.size).toBe(0);
  });

  it("is told of only what is on disk", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    const write = h.store.write.bind(h.store);
    let full = true;
    h.store.write = (batch) => (full ? Promise.reject(new Error("ENOSPC")) : write(batch));
    await h.agent();
    await h.clock.advance(100);
    expect(h.updates.every((u) => u.TaskStates?.["main"]?.State === "pending")).toBe(true);
    expect(h.machine.starts).toHaveLength(0);
    full = false;
    await h.clock.advance(10_000);
    expect(h.status).toBe("running");
  });

  it("ends with its kill_signal within the smaller of its own and the client's timeout (hashicorp/nomad#10005)", async () => {
    const h = await new Harness({
      job: oneTask("trap '' INT TERM; while true; do sleep 0.2; done", {
        task: { KillTimeout: 60e9, KillSignal: "SIGTERM" },
      }),
    }).agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(29_000);
    expect(h.status).toBe("running");
    await h.clock.advance(2_000);
    expect(h.machine.calls).toEqual(["stop main 30000 SIGTERM"]);
    expect(h.events()[3]?.DisplayMessage).toBe("Sent interrupt. Waiting 30s before force killing");
    expect(h.status).toBe("complete");
  });

  it("that the driver fails to stop is asked for again after 5 s, 20 s, 80 s, 2 min and 2 min", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600000") }).agent();
    await h.clock.advance(100);
    for (let i = 0; i < 5; i++) h.machine.stopFailures.push(new Error("busy"));
    h.stop();
    const tries: number[] = [];
    for (let s = 0; s < 400; s++) {
      await h.clock.advance(1_000);
      while (tries.length < h.machine.calls.length) tries.push(s);
    }
    // Each step looks at the second before it.
    expect(tries).toEqual([0, 4, 24, 104, 224, 344]);
    expect(h.status).toBe("complete");
  });

  it("that cannot be stopped at all says so when it ends", async () => {
    const h = await new Harness({ job: oneTask("sleep 1000; exit 0") }).agent();
    await h.clock.advance(100);
    for (let i = 0; i < 9; i++) h.machine.stopFailures.push(new Error("busy"));
    h.stop();
    await h.clock.advance(2_000_000);
    expect(h.types().slice(-2)).toEqual(["Terminated", "Killed"]);
    expect(h.events().at(-1)?.DisplayMessage).toBe("busy");
  });

  it("that its driver does not know any more is gone", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.machine.stopFailures.push(new TaskNotFoundError());
    h.stop();
    await h.clock.advance(100);
    h.machine.running()[0]?.end({ exitCode: 0, signal: 0, oomKilled: false });
    await h.clock.advance(100);
    expect(h.status).toBe("complete");
  });

  it("of an allocation that ends while it starts is stopped once it has started", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    h.machine.startMs = 1_000;
    await h.agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(5_000);
    expect(h.types()).toEqual(["Received", "Task Setup", "Killing", "Started", "Terminated", "Killed"]);
    expect(h.machine.running()).toHaveLength(0);
  });

  it("whose start fails for now is tried again; the driver's word decides", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    h.machine.startFailures.push(new RecoverableError("image is busy"));
    await h.agent();
    await h.clock.advance(5_000);
    expect(h.types()).toEqual(["Received", "Task Setup", "Driver Failure", "Restarting", "Started"]);
    const plain = new Harness({ job: oneTask("exec sleep 600") });
    plain.machine.startFailures.push(new Error("no"));
    await plain.agent();
    await plain.clock.advance(5_000);
    expect(plain.types().slice(-2)).toEqual(["Driver Failure", "Not Restarting"]);
  });
});

describe("a driver process that dies", () => {
  it("is followed by the next one: the task goes on, without an event", async () => {
    const h = await new Harness({
      job: oneTask("sleep 10; exit 3", {
        job: { Type: "batch" },
        task: { RestartPolicy: { Attempts: 0, Interval: 0, Delay: 0, Mode: "fail" } },
      }),
    }).agent();
    await h.clock.advance(1_000);
    h.machine.restartDriver();
    await h.clock.advance(1_000);
    expect(h.types()).toEqual(["Received", "Task Setup", "Started"]);
    h.machine.restartDriver();
    await h.clock.advance(20_000);
    expect(h.types().slice(3)).toEqual(["Terminated", "Not Restarting"]);
    expect(h.events()[3]?.DisplayMessage).toBe("Exit Code: 3");
  });

  it("while a stop is asked for: the new one is asked at once", async () => {
    const h = await new Harness({ job: oneTask("trap '' INT TERM; while true; do sleep 0.2; done") }).agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(1_000);
    h.machine.restartDriver();
    await h.clock.advance(5_500);
    expect(h.status).toBe("complete");
    expect(h.machine.calls).toHaveLength(2);
  });

  it("and cannot take the task over: that is its end, told as -1 (KB-32)", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.machine.recoverFailures.push(new Error("broken"));
    h.machine.restartDriver();
    await h.clock.advance(500);
    expect(h.events()[3]).toMatchObject({
      Type: "Terminated",
      DisplayMessage: 'Exit Code: -1, Exit Message: "broken"',
      Details: { exit_message: "broken" },
    });
    expect(h.types()[4]).toBe("Restarting");
    await h.clock.advance(5_000);
    expect(h.machine.running()).toHaveLength(1);
  });

  it("during a start: the start is repeated under the same id", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    h.machine.startMs = 1_000;
    await h.agent();
    await h.clock.advance(100);
    h.machine.restartDriver();
    await h.clock.advance(5_000);
    expect(h.status).toBe("running");
    expect(h.machine.starts).toHaveLength(1);
  });
});

describe("a group", () => {
  it("that is stopped ends leader first, then the others, sidecars last; poststop runs then; one Killing each", async () => {
    const slow = "trap '' INT TERM; while true; do sleep 0.2; done";
    const h = await new Harness({
      job: group([
        task("lead", slow, { Leader: true, KillTimeout: 1e9 }),
        task("worker", slow, { KillTimeout: 1e9 }),
        task("side", slow, { ...side, KillTimeout: 1e9 }),
        task("clean", "sleep 1", clean),
      ]),
    }).agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(10_000);
    await h.done();
    expect(h.types("lead").slice(3)).toEqual(["Killing", "Terminated", "Killed"]);
    expect(h.types("worker").slice(3)).toEqual(["Leader Task Dead", "Killing", "Terminated", "Killed"]);
    expect(h.types("side").slice(3)).toEqual(["Leader Task Dead", "Killing", "Terminated", "Killed"]);
    expect(h.types("clean")).toEqual(["Received", "Task Setup", "Started", "Terminated"]);
    expect(h.machine.calls.map((call) => call.split(" ")[1])).toEqual(["lead", "worker", "side"]);
    expect(at(h, "lead", "Terminated")).toBeLessThanOrEqual(at(h, "worker", "Killing"));
    expect(at(h, "worker", "Terminated")).toBeLessThanOrEqual(at(h, "side", "Killing"));
    expect(at(h, "side", "Terminated")).toBeLessThanOrEqual(at(h, "clean", "Started"));
    expect(h.status).toBe("complete");
  });

  it("one of whose tasks fails ends with it", async () => {
    const none = { RestartPolicy: { Attempts: 0, Interval: 0, Delay: 0, Mode: "fail" } };
    const h = await new Harness({
      job: group([task("a", "sleep 1; exit 1", none), task("b", "exec sleep 600")]),
    }).agent();
    await h.clock.advance(5_000);
    await h.done();
    expect(h.types("b").slice(3)).toEqual(["Sibling Task Failed", "Killing", "Terminated", "Killed"]);
    expect([h.status, h.state("b").Failed]).toEqual(["failed", false]);
  });

  it("restarts what runs, and refuses once it should not run", async () => {
    const h = await new Harness({
      job: group([
        task("a", "exec sleep 600"),
        task("b", "sleep 1; exit 0", { Lifecycle: { Hook: "poststart", Sidecar: false } }),
      ]),
    }).agent();
    await h.clock.advance(3_000);
    const restarted = h.runner.restartRunning(restartEvent("User requested running tasks to restart"));
    await h.clock.advance(1_000);
    await restarted;
    expect(h.types("a").slice(3)).toEqual(["Restart Signaled", "Terminated", "Restarting", "Started"]);
    expect(h.types("b")).not.toContain("Restart Signaled");
    h.stop();
    await h.clock.advance(1_000);
    await expect(h.runner.restartRunning(restartEvent("x"))).rejects.toThrow("restart of an alloc that should not run");
    await expect(h.runner.restartAll(restartEvent("x"))).rejects.toThrow("restart of an alloc that should not run");
  });

  it("knows its tasks by name", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    await expect(h.runner.restartTask("x", restartEvent("x"))).rejects.toThrow(
      "Could not find task runner for task: x",
    );
    await expect(h.runner.signal("x", "SIGHUP")).rejects.toThrow("Task not found");
    await expect(h.runner.taskDriverCapabilities("x")).rejects.toThrow("task not found");
    expect((await h.runner.taskDriverCapabilities("main")).exec).toBe(true);
    expect(h.runner.taskEventHandler("x")).toBeUndefined();
    expect(h.runner.taskExecHandler("x")).toBeUndefined();
    h.runner.taskEventHandler("main")?.({ message: "pulled", annotations: { image: "i" }, timestampMs: 0 });
    await h.clock.flush();
    expect(h.events().at(-1)).toMatchObject({ Type: "Driver", DisplayMessage: "pulled" });
    expect(h.runner.statsReporter().latestAllocStats()).toMatchObject({ Tasks: {}, Timestamp: 0 });
  });
});

describe("a disk that takes no writes", () => {
  const full = async (): Promise<Harness> => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    h.store.write = () => Promise.reject(new Error("ENOSPC"));
    await h.agent();
    await h.clock.advance(1_000);
    return h;
  };

  it("does not hold up a stop before the start", async () => {
    const h = await full();
    h.stop();
    await h.clock.advance(1_000);
    expect(h.machine.starts).toHaveLength(0);
    expect(h.runner.allocState().clientStatus).toBe("pending");
  });

  it("does not hold up the exit of the agent for more than two seconds", async () => {
    const h = await full();
    let over = false;
    h.runner.shutdown();
    void h.runner.shutdownDone.then(() => (over = true));
    await h.clock.advance(1_900);
    expect(over).toBe(false);
    await h.clock.advance(200);
    expect(over).toBe(true);
  });
});

describe("restarts by hand", () => {
  it("wait for shutdown_delay (hashicorp/nomad#25289)", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { task: { ShutdownDelay: 2e9 } }) }).agent();
    await h.clock.advance(100);
    const restart = h.runner.restartTask("main", restartEvent("User requested task to restart"));
    await h.clock.advance(1_900);
    expect(h.machine.running()).toHaveLength(1);
    await h.clock.advance(1_000);
    await restart;
    expect(h.types().slice(3)).toEqual([
      "Restart Signaled",
      "Waiting for shutdown delay",
      "Terminated",
      "Restarting",
      "Started",
    ]);
  });

  it("end a restart delay (hashicorp/nomad#10536)", async () => {
    const h = await new Harness({
      job: oneTask("exit 1", { task: { RestartPolicy: { Attempts: 2, Interval: 600e9, Delay: 60e9, Mode: "fail" } } }),
    }).agent();
    await h.clock.advance(1_000);
    expect(h.machine.starts).toHaveLength(1);
    await h.runner.restartTask("main", restartEvent("User requested task to restart"));
    await h.clock.advance(1_000);
    expect(h.machine.starts).toHaveLength(2);
  });

  it("give way to a stop that comes in between", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { task: { ShutdownDelay: 60e9 } }) }).agent();
    await h.clock.advance(100);
    const restart = h.runner.restartTask("main", restartEvent("User requested task to restart"));
    await h.clock.advance(100);
    h.stop({ noShutdownDelay: true });
    await h.clock.advance(1_000);
    await restart;
    expect(h.types().slice(-4)).toEqual(["Killing", "Skipping shutdown delay", "Terminated", "Killed"]);
    expect(h.status).toBe("complete");
  });

  it("revive nothing once all tasks of the group have ended", async () => {
    const h = await new Harness({ job: oneTask("exit 0", { job: { Type: "batch" } }) }).agent();
    await h.clock.advance(1_000);
    await h.done();
    await expect(h.runner.restartAll(restartEvent("x"))).rejects.toThrow("should not run");
    await expect(h.runner.restartTask("main", restartEvent("x"))).rejects.toThrow("Task not running");
  });
});

describe("server versions", () => {
  it("a new one reaches environment and hooks; only the newest pending one counts", async () => {
    const seen: number[] = [];
    const hook = {
      name: "probe",
      update: ({ alloc }: { alloc: { AllocModifyIndex: number } }) => void seen.push(alloc.AllocModifyIndex),
    };
    const h = await new Harness({
      job: oneTask("exec sleep 600"),
      config: { extraAllocHooks: [hook], extraTaskHooks: () => [hook] },
    }).agent();
    await h.clock.advance(100);
    h.updateJob((job) => {
      job.TaskGroups![0]!.Tasks![0]!.Env = { A: "2" };
    });
    h.serverUpdate({});
    h.runner.update({ ...h.serverAlloc, AllocModifyIndex: 2 });
    await h.clock.flush();
    expect(seen).toEqual([3, 3]);
    void h.runner.restartTask("main", restartEvent("User requested task to restart"));
    await h.clock.advance(100);
    expect(h.machine.starts[1]?.env["A"]).toBe("2");
  });

  it("one without the task ends it as failed", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.updateJob((job) => {
      job.TaskGroups![0]!.Tasks = [];
    });
    await h.clock.advance(100);
    expect(h.status).toBe("failed");
    expect(h.machine.running()).toHaveLength(0);
  });

  it("one that makes a sidecar of a task counts for its restarts and its gate (hashicorp/nomad#9542)", async () => {
    const init = task("init", "sleep 5; exit 0", { Lifecycle: { Hook: "prestart", Sidecar: false } });
    const h = await new Harness({ job: group([init, task("main", "exec sleep 600")]) }).agent();
    await h.clock.advance(1_000);
    expect(h.types("main")).toEqual(["Received"]);
    h.updateJob((job) => {
      job.TaskGroups![0]!.Tasks![0]!.Lifecycle = { Hook: "prestart", Sidecar: true };
    });
    await h.clock.advance(1_000);
    expect(h.types("main").at(-1)).toBe("Started");
    await h.clock.advance(10_000);
    expect(h.types("init").slice(3, 6)).toEqual(["Terminated", "Restarting", "Started"]);
  });

  it("an allocation that is stopped before it ran runs nothing", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600"), alloc: { DesiredStatus: "stop" } }).agent();
    await h.clock.advance(100);
    await h.done();
    expect([h.status, h.types(), h.machine.starts.length]).toEqual(["complete", ["Received"], 0]);
    expect(h.allocDir.log).toEqual(["unmount"]);
  });

  it("a reconnect adds an event to each task, keeps the desired state and is reported", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.runner.acknowledgeState(h.updates.at(-1)!);
    expect(h.runner.getUpdatePriority(h.updates.at(-1)!)).toBe("none");
    await h.runner.reconnect({ ...h.serverAlloc, AllocModifyIndex: 9, ClientStatus: "unknown", DesiredStatus: "stop" });
    expect(h.types().at(-1)).toBe("Reconnected");
    expect(h.runner.alloc()).toMatchObject({ AllocModifyIndex: 9, DesiredStatus: "run", ClientStatus: "pending" });
    expect(h.runner.getUpdatePriority(h.updates.at(-1)!)).toBe("typical");
  });
});

describe("max_run_duration", () => {
  it("is re-armed when it changes, and counts from the allocation's creation", async () => {
    const h = await new Harness({
      job: oneTask("exec sleep 600", { job: { Type: "batch" }, group: { MaxRunDuration: 10e9 } }),
    }).agent();
    await h.clock.advance(5_000);
    h.updateJob((job) => {
      job.TaskGroups![0]!.MaxRunDuration = 20e9;
    });
    await h.clock.advance(10_000);
    expect(h.status).toBe("running");
    await h.clock.advance(5_500);
    expect([h.status, h.runner.allocState().clientDescription]).toEqual([
      "complete",
      "allocation exceeded max_run_duration",
    ]);
  });

  it("does not hold for services", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { group: { MaxRunDuration: 1e9 } }) }).agent();
    await h.clock.advance(5_000);
    expect(h.status).toBe("running");
  });
});

describe("health", () => {
  const update = { Update: { HealthCheck: "task_states", MinHealthyTime: 10e9, HealthyDeadline: 60e9 } };

  it("is good after min_healthy_time without a restart", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { group: update }) }).agent();
    await h.clock.advance(9_900);
    expect(h.runner.allocState().deploymentStatus).toBeNull();
    await h.clock.advance(200);
    expect(h.runner.allocState().deploymentStatus).toMatchObject({ Healthy: true });
    expect(h.store.get(`allocations/${ALLOC_ID}/deploy_status`)).toMatchObject({ Healthy: true });
  });

  it("starts its clock anew with each restart, and is bad at the deadline with the words of a running task", async () => {
    const policy = { RestartPolicy: { Attempts: 100, Interval: 3600e9, Delay: 1e9, Mode: "fail" } };
    const h = await new Harness({ job: oneTask("sleep 5; exit 1", { group: update, task: policy }) }).agent();
    await h.clock.advance(61_000);
    expect(h.runner.allocState().deploymentStatus).toMatchObject({ Healthy: false });
    const text = h.events().find((e) => e.Type === "Alloc Unhealthy")?.DisplayMessage;
    expect(text).toMatch(/^Task not running (for min_healthy_time of 10s )?by healthy_deadline of 1m0s$/);
  });

  it("is bad at the deadline for a task that never started", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600", { group: update }) });
    h.machine.startMs = 1e9;
    await h.agent();
    await h.clock.advance(61_000);
    expect(h.events().at(-1)?.DisplayMessage).toBe("Task not running by healthy_deadline of 1m0s");
  });

  it("of a paused task is bad at the deadline, unless the operator lets the clock stand still (R-9)", async () => {
    for (const pausedIsHealthy of [false, true]) {
      const h = await new Harness({
        job: oneTask("exec sleep 600", { group: update }),
        config: { pausedIsHealthy },
      }).agent();
      await h.clock.advance(100);
      await h.runner.setTaskPauseState("main", "force_pause");
      await h.clock.advance(100_000);
      expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(pausedIsHealthy ? undefined : false);
      await h.runner.setTaskPauseState("main", "force_run");
      await h.clock.advance(30_000);
      expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(pausedIsHealthy);
    }
  });

  it("is not watched for batch work, manual deployments and judged allocations", async () => {
    const manual = { Update: { ...update.Update, HealthCheck: "manual" } };
    for (const job of [
      oneTask("exec sleep 600", { job: { Type: "batch" } }),
      oneTask("exec sleep 600", { group: manual }),
    ]) {
      const h = await new Harness({ job }).agent();
      await h.clock.advance(20_000);
      expect(h.runner.allocState().deploymentStatus).toBeNull();
    }
    const judged = { Healthy: false, Timestamp: null, Canary: false, ModifyIndex: 3 };
    const h = await new Harness({
      job: oneTask("exec sleep 600", { group: update }),
      alloc: { DeploymentStatus: judged },
    }).agent();
    await h.clock.advance(20_000);
    expect(h.runner.allocState().deploymentStatus).toEqual(judged);
  });

  it("is judged anew for another deployment", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { group: update }) }).agent();
    await h.clock.advance(5_000);
    h.serverUpdate({ DeploymentID: "deployment-2" });
    await h.clock.advance(9_000);
    expect(h.runner.allocState().deploymentStatus).toBeNull();
    await h.clock.advance(2_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
  });

  it("is judged anew for another deployment also after a restart of the agent, and although it was judged before", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { group: update }) }).agent();
    await h.clock.advance(12_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
    h.killAgent();
    await h.agent({ restore: true });
    await h.clock.advance(100);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
    h.serverUpdate({ DeploymentID: "deployment-2" });
    await h.clock.advance(9_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBeNull();
    await h.clock.advance(2_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
  });

  it("of an allocation outside a deployment follows the migrate block", async () => {
    const migrate = { Migrate: { HealthCheck: "task_states", MinHealthyTime: 3e9, HealthyDeadline: 60e9 } };
    const h = await new Harness({
      job: oneTask("exec sleep 600", { group: migrate }),
      alloc: { DeploymentID: "" },
    }).agent();
    await h.clock.advance(4_000);
    expect(h.runner.allocState().deploymentStatus?.Healthy).toBe(true);
  });
});

describe("a hook before the run that fails", () => {
  it("fails every task visibly and leaves none pending (hashicorp/nomad#5905)", async () => {
    const hook = { name: "bad", prerun: () => Promise.reject(new Error("no network")) };
    const h = await new Harness({
      job: group([task("a", "exec sleep 600"), task("b", "exec sleep 600")]),
      config: { extraAllocHooks: [hook] },
    }).agent();
    await h.clock.advance(100);
    await h.done();
    expect(h.status).toBe("failed");
    for (const name of ["a", "b"]) {
      expect(h.types(name)).toEqual(["Received", "Setup Failure"]);
      expect(h.events(name)[1]?.DisplayMessage).toBe('failed to setup alloc: pre-run hook "bad" failed: no network');
    }
    expect(h.machine.starts).toHaveLength(0);
  });

  it("at a restore really stops what runs (hashicorp/nomad#17102)", async () => {
    let fail = false;
    const hook = { name: "bad", prerun: () => (fail ? Promise.reject(new Error("no network")) : undefined) };
    const h = await new Harness({ job: oneTask("exec sleep 600"), config: { extraAllocHooks: [hook] } }).agent();
    await h.clock.advance(100);
    h.killAgent();
    fail = true;
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(h.machine.processes.size).toBe(0);
    expect(h.status).toBe("failed");
  });

  it("is cut short by a stop, which is no failure", async () => {
    const hook = {
      name: "slow",
      prerun: (_env: unknown, signal: AbortSignal) =>
        new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    };
    const h = await new Harness({ job: oneTask("exec sleep 600"), config: { extraAllocHooks: [hook] } }).agent();
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(100);
    await h.done();
    expect([h.status, h.types()]).toEqual(["complete", ["Received", "Killing"]]);
  });
});

describe("hooks around the run", () => {
  it("are called in order, each in its time; postrun and destroy in full even when some fail (hashicorp/nomad#26271)", async () => {
    const log: string[] = [];
    const hook = (name: string, fails = false) => {
      const step = (what: string) => () => {
        log.push(`${name} ${what}`);
        if (fails && what !== "prerun") throw new Error("no");
      };
      return {
        name,
        prerun: step("prerun"),
        preKill: step("preKill"),
        preTaskRestart: step("preTaskRestart"),
        postrun: step("postrun"),
        destroy: step("destroy"),
        shutdown: step("shutdown"),
      };
    };
    const h = await new Harness({
      job: oneTask("exec sleep 600"),
      config: { extraAllocHooks: [hook("a", true), hook("b")] },
    }).agent();
    await h.clock.advance(100);
    void h.runner.restartRunning(restartEvent("x"));
    await h.clock.advance(100);
    h.stop();
    await h.clock.advance(100);
    await h.done();
    h.runner.destroy();
    await h.runner.destroyDone;
    const steps = ["prerun", "preTaskRestart", "preKill", "postrun", "destroy"];
    expect(log).toEqual(steps.flatMap((s) => [`a ${s}`, `b ${s}`]));
    expect(h.allocDir.log.at(-1)).toBe("destroy");
  });

  it("are measured", async () => {
    const seen: string[] = [];
    const telemetry = {
      time<T>(name: string, kind: string, fn: () => T): T {
        seen.push(`${kind} ${name}`);
        return fn();
      },
    };
    const h = await new Harness({ job: oneTask("exit 0", { job: { Type: "batch" } }), config: { telemetry } }).agent();
    await h.clock.advance(1_000);
    expect(seen.filter((s) => s.startsWith("pre"))).toEqual([
      "prerun alloc_dir",
      "prerun max_run_duration",
      "prerun alloc_health_watcher",
      "prerun group_services",
      "prerun checks_hook",
      "prestart validate",
      "prestart task_dir",
      "prestart logmon",
      "prestart dispatch_payload",
      "prestart artifacts",
      "prestart pause",
      "prekill group_services",
      "prekill checks_hook",
    ]);
  });

  it("waits for a previous allocation; a disk that cannot be moved is replaced by an empty one", async () => {
    let go: () => void = () => undefined;
    const prevAllocs = {
      wait: () => new Promise<void>((resolve) => (go = resolve)),
      isWaiting: () => true,
      isMigrating: () => false,
      migrate: () => Promise.reject(new Error("gone")),
    };
    const h = await new Harness({ job: oneTask("exec sleep 600"), config: { prevAllocs } }).agent();
    await h.clock.advance(1_000);
    expect([h.runner.isWaiting(), h.runner.isMigrating(), h.machine.starts.length]).toEqual([true, false, 0]);
    go();
    await h.clock.advance(100);
    expect(h.status).toBe("running");
    expect(h.allocDir.log.slice(0, 3)).toEqual(["build", "destroy", "build"]);
  });
});

describe("destroy and shutdown", () => {
  it("a destroy stops everything, cleans up, and leaves no state", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    using listener = h.runner.listener();
    h.runner.destroy();
    h.runner.destroy();
    await h.clock.advance(100);
    await Promise.all([h.runner.destroyDone, h.runner.shutdownDone, h.runner.waitDone]);
    expect(h.machine.processes.size).toBe(0);
    expect(h.store.list("allocations/")).toEqual([]);
    await h.runner.persistState();
    expect(h.store.list("allocations/")).toEqual([]);
    expect(h.runner.isDestroyed()).toBe(true);
    expect((await listener.receive())?.ClientStatus).toBe("complete");
    expect(await listener.receive()).toBeUndefined();
    h.runner.shutdown();
  });

  it("a shutdown lets go without stopping or writing, and a destroy after it spares living tasks", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    await h.runner.persistState();
    const before = JSON.stringify(h.store.list("allocations/"));
    h.runner.shutdown();
    h.runner.shutdown();
    await h.runner.shutdownDone;
    await h.done();
    expect(h.machine.running()).toHaveLength(1);
    expect(JSON.stringify(h.store.list("allocations/"))).toBe(before);
    h.runner.destroy();
    await h.runner.destroyDone;
    expect(h.machine.running()).toHaveLength(1);
    expect(h.store.list("allocations/").length).toBeGreaterThan(0);
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(h.types()).toEqual(["Received", "Task Setup", "Started"]);
  });

  it.each(["exit 1", "exec sleep 600"])("a shutdown in any phase ends the loop: %s", async (script) => {
    for (const ms of [0, 1, 2, 4, 50, 500]) {
      const h = await new Harness({
        job: oneTask(script, { task: { RestartPolicy: { Attempts: 9, Interval: 600e9, Delay: 60e9, Mode: "fail" } } }),
      }).agent();
      await h.clock.advance(ms);
      h.runner.shutdown();
      await h.clock.advance(10);
      await h.runner.shutdownDone;
      await h.done();
    }
  });

  it("a folder that is gone fails the restore; the destroy stops the task and frees the state (KB-39)", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.killAgent();
    h.allocDir.stat = () => Promise.reject(new Error("no such file or directory"));
    await expect(h.agent({ restore: true })).rejects.toThrow("allocation directory is inaccessible");
    h.allocDir.stat = async () => ({}) as never;
    h.runner.setClientStatus("failed");
    h.runner.destroy();
    await h.clock.advance(1_000);
    await h.runner.destroyDone;
    expect(h.machine.processes.size).toBe(0);
    expect(h.store.list("allocations/")).toEqual([]);
    expect(h.updates.at(-1)?.ClientStatus).toBe("failed");
  });
});

describe("an allocation that cannot be built", () => {
  const build = (change: object, dir = fakeAllocDir(ALLOC_ID)): Promise<unknown> => {
    const h = new Harness({ job: oneTask("x"), alloc: change, config: { newAllocDir: () => dir } });
    return h.agent();
  };

  it("without its group, without resources, with an unknown driver", async () => {
    await expect(build({ TaskGroup: "other" })).rejects.toThrow('failed to lookup task group "other"');
    await expect(build({ AllocatedResources: null })).rejects.toThrow("no task resources found on allocation");
    const h = new Harness({ job: oneTask("x", { task: { Driver: "docker" } }) });
    await expect(h.agent()).rejects.toThrow("driver docker is unknown");
  });

  it("because its driver does not come up within a minute", async () => {
    const drivers = {
      dispense: (_name: string, o: { signal: AbortSignal }) =>
        new Promise<never>((_, reject) => o.signal.addEventListener("abort", () => reject(o.signal.reason as Error))),
    };
    const h = new Harness({ job: oneTask("x"), config: { drivers } });
    const made = h.agent();
    made.catch(() => undefined);
    await h.clock.advance(61_000);
    await expect(made).rejects.toThrow('driver "raw_exec" did not come up within 60 s');
  });

  it("a driver that needs a chroot is refused by name", async () => {
    const h = new Harness({ job: oneTask("x") });
    h.machine.capabilities = { ...h.machine.capabilities, fsIsolation: "chroot" };
    await h.agent();
    await h.clock.advance(100);
    expect(h.types()).toEqual(["Received", "Failed Validation", "Not Restarting"]);
    expect(h.events()[1]?.DisplayMessage).toContain("needs a chroot");
  });
});

describe("a restored allocation", () => {
  it("tells what its former agent wrote down but was killed before it told", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(1_000);
    h.killAgent();
    h.updates.length = 0;
    await h.agent({ restore: true });
    await h.clock.advance(100);
    expect(h.updates.map((update) => update.ClientStatus)).toContain("running");
    expect(h.types()).toEqual(["Received", "Task Setup", "Started"]);
  });

  it("whose folder was not built yet when its agent was killed starts as a new one", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    const build = h.allocDir.build.bind(h.allocDir);
    h.allocDir.build = () => new Promise(() => undefined);
    await h.agent();
    await h.clock.advance(100);
    expect([...h.store.list("allocations/")].some(([key]) => key.endsWith("/task_state"))).toBe(true);
    h.killAgent();
    h.allocDir.stat = () => Promise.reject(new Error("no such file or directory"));
    h.allocDir.build = build;
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(h.machine.running()).toHaveLength(1);
    expect(h.status).toBe("running");
  });

  it("waits for a driver that is late, and is not given up", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.killAgent();
    let up = false;
    const dispense = h.machine.dispense.bind(h.machine);
    h.machine.dispense = async (name, o) => {
      while (!up) await new Promise<void>((resolve) => h.clock.setTimeout(resolve, 1_000));
      return dispense(name, o);
    };
    await h.agent({ restore: true, serversContacted: Promise.resolve() });
    await h.clock.advance(300_000);
    expect(h.status).toBe("running");
    await expect(h.runner.taskDriverCapabilities("main")).rejects.toThrow("has not come up yet");
    h.stop();
    up = true;
    await h.clock.advance(5_000);
    expect(h.machine.processes.size).toBe(0);
    expect(h.status).toBe("complete");
  });

  it("with a driver that is gone for good fails", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600") }).agent();
    await h.clock.advance(100);
    h.killAgent();
    h.machine.dispense = () => Promise.reject(new Error("driver raw_exec is unknown"));
    await h.agent({ restore: true, serversContacted: Promise.resolve() });
    await h.clock.advance(100);
    expect(h.types().slice(3)).toEqual(["Driver Failure", "Not Restarting"]);
    expect(h.status).toBe("failed");
  });

  it("of a system job goes on without waiting for servers", async () => {
    const h = await new Harness({ job: oneTask("exec sleep 600", { job: { Type: "system" } }) }).agent();
    await h.clock.advance(100);
    h.killAgent();
    h.machine.reboot();
    await h.agent({ restore: true, serversContacted: new Promise<void>(() => undefined) });
    await h.clock.advance(1_000);
    expect(h.types().slice(3)).toEqual(["Started"]);
  });

  it("whose tasks have ended does nothing again (hashicorp/nomad#5883)", async () => {
    const h = await new Harness({ job: oneTask("exit 0", { job: { Type: "batch" } }) }).agent();
    await h.clock.advance(1_000);
    await h.done();
    await h.agent({ restore: true });
    await h.clock.advance(5_000);
    await h.done();
    expect(h.machine.starts).toHaveLength(1);
    expect(h.status).toBe("complete");
    expect(h.logCalls.filter((c) => c === "stop main")).toHaveLength(2);
  });

  it("keeps what its hooks gave the task", async () => {
    const hook = { name: "gift", prestart: () => ({ env: { GIFT: "1" }, mounts: [], devices: [], done: true }) };
    const h = await new Harness({ job: oneTask("sleep 5; exit 1"), config: { extraTaskHooks: () => [hook] } }).agent();
    await h.clock.advance(100);
    h.killAgent();
    await h.agent({ restore: true });
    await h.clock.advance(10_000);
    expect(h.machine.starts.length).toBeGreaterThan(1);
    expect(h.machine.starts.every((s) => s.env["GIFT"] === "1")).toBe(true);
  });

  it("lives on when the set-up of a running task fails (known-bugs 9)", async () => {
    let fail = false;
    const hook = {
      name: "services",
      prestart() {
        if (fail) throw new Error("server is away");
      },
    };
    const h = await new Harness({ job: oneTask("exec sleep 600"), config: { extraTaskHooks: () => [hook] } }).agent();
    await h.clock.advance(100);
    h.killAgent();
    fail = true;
    await h.agent({ restore: true });
    await h.clock.advance(1_000);
    expect(h.machine.running()).toHaveLength(1);
    expect(h.events().at(-1)?.DisplayMessage).toBe("services: server is away");
    expect(h.status).toBe("running");
  });
});
