import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jobOf, LONG, Rig, shTask, until } from "./harness.ts";
import { alive, processesBelow } from "./processes.ts";

/** Fewer rounds show a fault less often, more rounds take longer; each round kills once. */
const ROUNDS = LONG ? 30 : 6;
const VICTIMS = ["agent", "driver", "both"] as const;
type Victim = (typeof VICTIMS)[number];

let rig: Rig;
/** Where tasks write down what they did: out of reach of the agent. */
let notes: string;
beforeEach(async () => {
  rig = new Rig("kills");
  notes = join(rig.dir, "notes");
  mkdirSync(notes);
  await rig.start();
});
afterEach(() => rig.close());

const note = (name: string): string[] =>
  existsSync(join(notes, name)) ? readFileSync(join(notes, name), "utf8").trimEnd().split("\n") : [];
const quoted = (name: string): string => `'${join(notes, name)}'`;

async function strike(victim: Victim, meanwhile: () => void): Promise<void> {
  const driver = rig.driverPid;
  if (victim !== "driver") await rig.end("SIGKILL");
  if (victim !== "agent" && driver !== 0) process.kill(driver, "SIGKILL");
  meanwhile();
  if (victim !== "agent" && driver !== 0) await until("the end of the driver process", () => !alive(driver));
  if (victim !== "driver") await rig.start();
  await until("a driver process", () => rig.driverPid > 0);
}

/** Output of a task, all rotated files in order. */
function output(allocId: string, task: string): string {
  const folder = join(rig.data, "alloc", allocId, "alloc", "logs");
  const numbers = readdirSync(folder)
    .flatMap((name) => new RegExp(`^${task}\\.stdout\\.(\\d+)$`).exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  expect(numbers[0]).toBe(0);
  return numbers.map((n) => readFileSync(join(folder, `${task}.stdout.${n}`), "latin1")).join("");
}

/** Ends of tasks that fall into the gap. */
const ENDS = {
  zero: { last: "exit 0", exitCode: 0, signal: 0, failed: false },
  three: { last: "exit 3", exitCode: 3, signal: 0, failed: true },
  like_a_signal: { last: "exit 137", exitCode: 137, signal: 0, failed: true },
  terminated: { last: "kill -TERM $$; sleep 100", exitCode: 143, signal: 15, failed: true },
} as const;

describe("kill -9 of the agent, of the driver process and of both", () => {
  it(
    "leaves running tasks as they are, doubles nothing, and forgets neither an end nor a byte",
    async () => {
      // Each writes down every start of it. The steady one counts up to show bytes that are lost or doubled.
      const count = `i=0; while :; do seq $((i + 1)) $((i + 400)); i=$((i + 400)); sleep 0.04; done`;
      const logs = { LogConfig: { MaxFiles: 60, MaxFileSizeMB: 1 } };
      await rig.submit(
        jobOf(
          "steady",
          [
            shTask("count", `echo $$ >>${quoted("count")}; ${count}`, logs),
            shTask("web", `echo $$ >>${quoted("web")}; exec sleep 86400`),
          ],
          { group: { EphemeralDisk: { SizeMB: 100 } } },
        ),
      );
      const shut = { Cron: { Start: "0 0 1 1 * 1999", End: "1 0", Timezone: "UTC" } };
      await rig.submit(
        jobOf("waiting", [shTask("never", `echo $$ >>${quoted("never")}; exec sleep 86400`, { Schedule: shut })]),
      );
      await rig.submit(jobOf("held", [shTask("held", `echo $$ >>${quoted("held")}; exec sleep 86400`)]));
      const steady = await rig.alloc("steady", "runs", (a) => a.ClientStatus === "running");
      const held = await rig.alloc("held", "runs", (a) => a.ClientStatus === "running");
      const waiting = await rig.alloc("waiting", "waits", (a) => a.TaskStates?.never?.State === "pending");
      await rig.call("PUT", `/v1/client/allocation/${held.ID}/pause`, { Task: "held", ScheduleState: "pause" });
      await until("the paused task to stop", () => note("held").every((pid) => !alive(Number(pid))));
      const pause = async (id: string, task: string): Promise<string> =>
        (await rig.call("GET", `/v1/client/allocation/${id}/pause?task=${task}`)).ScheduleState;
      await until("both tasks to write themselves down", () => note("count").length > 0 && note("web").length > 0);
      const before = { count: note("count"), web: note("web"), held: note("held").length };
      expect(before.count.length + before.web.length).toBe(2);
      // What cleans up below must be able to see.
      expect(rig.remains().filter((line) => line.startsWith("process")).length).toBeGreaterThanOrEqual(5);

      for (let round = 0; round < ROUNDS; round++) {
        const victim = VICTIMS[round % VICTIMS.length] as Victim;
        const id = `batch-${round}`;
        const go = join(notes, `go-${round}`);
        const groups = Object.entries(ENDS).flatMap(([name, end]) => {
          const wait = `until [ -e '${go}' ]; do sleep 0.02; done`;
          const script = `echo $$ >>${quoted(`${id}.${name}`)}; ${wait}; echo "last words of ${name}"; ${end.last}`;
          return (jobOf(id, [shTask(name, script)])["TaskGroups"] as object[]).map((g) => ({ ...g, Name: name }));
        });
        await rig.submit({ ...jobOf(id, [], { type: "batch" }), TaskGroups: groups });
        await until(`batch tasks of round ${round}`, async () => {
          const allocs = await rig.allocs(id);
          return allocs.length === groups.length && allocs.every((a) => a.ClientStatus === "running");
        });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
        // The ends fall before, into and after the kill.
        const letGo = (): void => writeFileSync(go, "");
        if (round % 2 === 1) letGo();
        expect(rig.driverPid).toBeGreaterThan(0);
        await strike(victim, () => (round % 2 === 0 ? letGo() : undefined));

        const where = `round ${round}, kill of ${victim}`;
        await until(`${where}: ends of all batch tasks`, async () =>
          (await rig.allocs(id)).every((a) => ["complete", "failed"].includes(a.ClientStatus)),
        );
        for (const alloc of await rig.allocs(id)) {
          const name = alloc.TaskGroup as keyof typeof ENDS;
          const state = alloc.TaskStates[name];
          const ends = state.Events.filter((event: any) => event.Type === "Terminated");
          expect([name, state.Failed, ...ends.map((e: any) => [e.ExitCode, e.Signal])], where).toEqual([
            name,
            ENDS[name].failed,
            [ENDS[name].exitCode, ENDS[name].signal],
          ]);
          expect(output(alloc.ID, name), where).toBe(`last words of ${name}\n`);
          expect(note(`${id}.${name}`).length, where).toBe(1);
        }
        expect([note("count"), note("web")], where).toEqual([before.count, before.web]);
        for (const pid of [...before.count, ...before.web]) expect(alive(Number(pid)), where).toBe(true);
        expect([note("never"), note("held").length], where).toEqual([[], before.held]);
        expect([await pause(waiting.ID, "never"), await pause(held.ID, "held")], where).toEqual([
          "scheduled_pause",
          "force_pause",
        ]);
      }

      // The count goes on, and then stops where it is: nothing before its end may be missing.
      const seen = output(steady.ID, "count").length;
      await until("more output", () => output(steady.ID, "count").length > seen + 2000);
      await rig.call("PUT", `/v1/client/allocation/${held.ID}/pause`, { Task: "held", ScheduleState: "run" });
      await until("the paused task to run again", () => note("held").length === before.held + 1);
      await rig.cli("job", "stop", "steady");
      await until("the end of the counting task", () => !alive(Number(before.count[0])));
      const got = output(steady.ID, "count");
      const lines = got.split("\n").length - 1;
      const expected = Array.from({ length: lines + 1 }, (_, i) => `${i + 1}\n`).join("");
      const node = (await rig.call<any[]>("GET", "/v1/nodes"))[0];
      const whole = (await rig.call<any>("GET", `/v1/node/${node.ID}`)).Attributes["driver.raw_exec.logs"] === "splice";
      if (whole) expect(expected.startsWith(got), firstDifference(got, expected)).toBe(true);
      else expect(lines).toBeGreaterThan(1000);
    },
    LONG ? 600_000 : 180_000,
  );

  it("finds a task in its restart delay and starts it once more, not twice", async () => {
    const script = `echo $$ >>${quoted("runs")}; [ $(wc -l <${quoted("runs")}) -ge 3 ] || exit 1; exec sleep 86400`;
    // So long that a busy machine is not through with it before it is seen.
    const policy = { Attempts: 9, Mode: "fail", Interval: 3_600_000_000_000, Delay: 4_000_000_000 };
    await rig.submit(jobOf("flaky", [shTask("t", script)], { group: { RestartPolicy: policy } }));
    for (const [runs, victim] of [
      [1, "both"],
      [2, "agent"],
    ] as const) {
      await rig.alloc("flaky", `end ${runs}`, ({ TaskStates }) => {
        const events = TaskStates?.t?.Events ?? [];
        return note("runs").length === runs && events.at(-1)?.Type === "Restarting";
      });
      await strike(victim, () => undefined);
      await until(`start ${runs + 1}`, () => note("runs").length >= runs + 1);
      expect(note("runs").length).toBe(runs + 1);
    }
    const alloc = await rig.alloc("flaky", "runs", (a) => a.ClientStatus === "running");
    expect(note("runs").length).toBe(3);
    expect(alive(Number(note("runs")[2]))).toBe(true);
    const own = processesBelow(rig.data).filter((p) => p.command === "sleep 86400");
    expect(own.length).toBe(1);
    expect(alloc.TaskStates.t.Events.filter((e: any) => e.Type === "Terminated").length).toBe(2);
  });

  it("at any moment of a start leaves one process of a task, not none or two", async () => {
    for (let round = 0; round < (LONG ? 20 : 4); round++) {
      const id = `start-${round}`;
      await rig.submit(jobOf(id, [shTask("t", `echo $$ >>${quoted(id)}; exec sleep 86400`)]));
      const once = `once-${round}`;
      await rig.submit(jobOf(once, [shTask("t", `echo $$ >>${quoted(once)}; exit 7`)], { type: "batch" }));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 250));
      await strike(round % 2 === 0 ? "agent" : "both", () => undefined);
      await rig.alloc(id, "runs", (alloc) => alloc.ClientStatus === "running");
      const running = await until("its process", () => {
        const pids = note(id).filter((pid) => alive(Number(pid)));
        return pids.length > 0 && pids;
      });
      expect(running.length, `round ${round}: ${note(id).join(", ")}`).toBe(1);
      const ended = await rig.alloc(once, "failed", (alloc) => alloc.ClientStatus === "failed");
      expect(ended.TaskStates.t.Events.filter((e: any) => e.ExitCode === 7).length).toBe(1);
      expect(note(once).length, `round ${round}`).toBe(1);
      appendFileSync(join(notes, "rounds"), `${id}\n`);
    }
    expect(note("rounds").length).toBe(LONG ? 20 : 4);
  });

  it("in the middle of a stop ends every process all the same, once its time is over", async () => {
    const deaf = `trap '' INT TERM; echo $$ >>${quoted("deaf")}; (setsid sleep 86400 &); while :; do sleep 0.1; done`;
    for (const [i, victim] of VICTIMS.entries()) {
      const id = `stop-${victim}`;
      await rig.submit(jobOf(id, [shTask("t", deaf, { KillTimeout: 1_500_000_000 })]));
      await rig.alloc(id, "runs", (alloc) => alloc.ClientStatus === "running");
      await until("its pid", () => note("deaf").length === i + 1);
      await rig.call("DELETE", `/v1/job/${id}`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 1000));
      await strike(victim, () => undefined);
      const alloc = await rig.alloc(id, "is complete", (a) => a.ClientStatus === "complete");
      await until(`kill of ${victim}: the end of all processes`, () =>
        processesBelow(rig.data).every((p) => p.pid === rig.agentPid || p.pid === rig.driverPid),
      );
      const ends = alloc.TaskStates.t.Events.filter((event: any) => event.Type === "Terminated");
      expect(ends.map((e: any) => [e.ExitCode, e.Signal])).toEqual([[137, 9]]);
    }
  });
});

function firstDifference(got: string, expected: string): string {
  let i = 0;
  while (i < got.length && got[i] === expected[i]) i++;
  return `differs at byte ${i} of ${got.length}: ${JSON.stringify(got.slice(i - 20, i + 20))} instead of ${JSON.stringify(expected.slice(i - 20, i + 20))}`;
}
