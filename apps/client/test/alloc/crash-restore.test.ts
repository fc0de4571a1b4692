import { describe, expect, it } from "vitest";
import { ALLOC_ID, Harness, oneTask } from "./support/harness.ts";

interface Plan {
  readonly title: string;
  readonly job: unknown;
  /** Ms after which the server stops the job; undefined: never. */
  readonly stopAt?: number;
  /** Starts of each task, whatever happens. */
  readonly starts: Record<string, number>;
  readonly status: string;
  readonly restarts?: number;
}

const task = (name: string, script: string, more: object = {}): object => ({
  Name: name,
  Driver: "raw_exec",
  KillTimeout: 5e9,
  Config: { command: "/bin/sh", args: ["-c", script] },
  ...more,
});

const PLANS: readonly Plan[] = [
  {
    title: "batch work that succeeds",
    job: oneTask("sleep 2; exit 0", { job: { Type: "batch" } }),
    starts: { main: 1 },
    status: "complete",
  },
  {
    title: "work that fails for good after two restarts",
    job: oneTask("sleep 2; exit 1", { job: { Type: "batch" } }),
    starts: { main: 3 },
    status: "failed",
    restarts: 2,
  },
  {
    title: "a service that is stopped",
    job: oneTask("exec sleep 600", { task: { ShutdownDelay: 1e9 } }),
    stopAt: 3_000,
    starts: { main: 1 },
    status: "complete",
  },
  {
    title: "a group with every lifecycle",
    job: oneTask("", {
      job: { Type: "batch" },
      group: {
        Tasks: [
          task("init", "sleep 1", { Lifecycle: { Hook: "prestart", Sidecar: false } }),
          task("side", "exec sleep 600", { Lifecycle: { Hook: "prestart", Sidecar: true } }),
          task("main", "sleep 2"),
          task("clean", "sleep 1", { Lifecycle: { Hook: "poststop", Sidecar: false } }),
        ],
      },
    }),
    starts: { init: 1, side: 1, main: 1, clean: 1 },
    status: "complete",
  },
];

/** Runs a plan to its end; whenever the agent has died a new one comes up a little later. */
async function live(h: Harness, plan: Plan): Promise<{ readonly doubled: boolean }> {
  await h.agent();
  let doubled = false;
  let contact: () => void = () => undefined;
  let stopped = false;
  for (let ms = 0; ms < 40_000; ms += 50) {
    await h.clock.advance(50);
    const names = h.machine.running().map((p) => p.config.name);
    doubled ||= new Set(names).size !== names.length;
    if (plan.stopAt !== undefined && ms >= plan.stopAt && !stopped) {
      stopped = true;
      h.stop();
    }
    if (h.agentIsDead) {
      await h.clock.advance(700);
      const known = h.store.list(`allocations/${ALLOC_ID}/`).length > 0;
      await h.agent({ restore: known, serversContacted: new Promise<void>((resolve) => (contact = resolve)) });
      if (stopped) h.stop();
    }
    if (ms % 2_000 === 0) contact();
  }
  return { doubled };
}

describe("kill -9 of the agent", () => {
  for (const plan of PLANS) {
    for (const when of ["before", "after"] as const) {
      it(`${when} any state write: ${plan.title}`, async () => {
        let total = Infinity;
        for (let at = 1; at <= total; at++) {
          const h = new Harness({ job: plan.job });
          h.onWrite = (n) => (n === at ? when : undefined);
          const { doubled } = await live(h, plan);
          const note = `crash at write ${at}`;
          expect(doubled, note).toBe(false);
          const starts: Record<string, number> = {};
          for (const s of h.machine.starts) starts[s.name] = (starts[s.name] ?? 0) + 1;
          expect(starts, note).toEqual(plan.starts);
          expect(h.status, note).toBe(plan.status);
          expect(h.machine.processes.size, note).toBe(0);
          if (plan.restarts !== undefined) expect(h.state().Restarts, note).toBe(plan.restarts);
          // The last run was one without a crash.
          if (h.writes < at) total = at;
        }
        expect(total).toBeGreaterThan(4);
      });
    }
  }

  it("between the spawn and the driver's answer: the task is found again, not doubled", async () => {
    const h = new Harness({ job: oneTask("sleep 3; exit 0", { job: { Type: "batch" } }) });
    h.machine.afterSpawn = () => h.killAgent();
    await h.agent();
    await h.clock.advance(100);
    h.machine.afterSpawn = undefined;
    await h.agent({ restore: true });
    await h.clock.advance(5_000);
    expect(h.machine.starts).toHaveLength(1);
    expect(h.types()).toEqual(["Received", "Task Setup", "Started", "Terminated"]);
    expect(h.status).toBe("complete");
  });

  it("before the spawn: the task is started once", async () => {
    const h = new Harness({ job: oneTask("exec sleep 600") });
    // The write of the intent is the first one that names a start.
    const write = h.store.write.bind(h.store);
    h.store.write = async (batch) => {
      await write(batch);
      if (JSON.stringify(batch).includes('"starting"')) h.killAgent();
    };
    await h.agent();
    await h.clock.advance(100);
    expect(h.machine.starts).toHaveLength(0);
    h.store.write = write;
    await h.agent({ restore: true });
    await h.clock.advance(100);
    expect(h.machine.starts).toHaveLength(1);
    expect(h.status).toBe("running");
  });
});
