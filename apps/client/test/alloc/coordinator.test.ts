import { describe, expect, it } from "vitest";
import { Coordinator, stageOf, type Stage } from "../../src/alloc/coordinator.ts";

type S = "pending" | "running" | "dead" | "failed";
const ALL: ReadonlyArray<[string, Stage]> = [
  ["init", "prestart"],
  ["side", "prestart-sidecar"],
  ["main", "main"],
  ["after", "poststart"],
  ["aside", "poststart-sidecar"],
  ["clean", "poststop"],
];

function states(names: readonly string[], values: readonly S[]): Map<string, { State: string; Failed: boolean }> {
  return new Map(
    names.map((name, i) => [
      name,
      { State: values[i] === "failed" ? "dead" : (values[i] as string), Failed: values[i] === "failed" },
    ]),
  );
}

function open(c: Coordinator, names: readonly string[]): string {
  return names.filter((name) => c.isOpen(name)).join(" ");
}

const P: S = "pending";
const R: S = "running";
const D: S = "dead";
const F: S = "failed";

describe("all stages, step by step", () => {
  const names = ALL.map(([name]) => name);
  const rows: Array<[title: string, values: S[], state: string, gates: string]> = [
    ["nothing has begun", [P, P, P, P, P, P], "prestart", "init side"],
    ["prestart runs", [R, P, P, P, P, P], "prestart", "init side"],
    ["the sidecar alone is not enough", [R, R, P, P, P, P], "prestart", "init side"],
    ["prestart is done but its sidecar has not started", [D, P, P, P, P, P], "prestart", "init side"],
    ["prestart is done", [D, R, P, P, P, P], "main", "side main"],
    ["main runs", [D, R, R, P, P, P], "poststart", "side main after aside"],
    ["a main task that died at once counts as started", [D, R, D, P, P, P], "poststart", "side main after aside"],
    ["poststart is done", [D, R, R, D, R, P], "wait_alloc", "side main aside"],
    ["a sidecar still lives", [D, R, D, D, D, P], "wait_alloc", "side main aside"],
    ["all are dead", [D, D, D, D, D, P], "poststop", "clean"],
    ["it never leaves the end", [D, D, R, D, D, D], "poststop", "clean"],
  ];
  const c = new Coordinator(new Map(ALL));
  expect(c.state).toBe("init");
  for (const [title, values, state, gates] of rows) {
    it(title, () => {
      c.update(states(names, values));
      expect([c.state, open(c, names)]).toEqual([state, gates]);
    });
  }
});

it("a failed prestart task keeps main closed; once all is dead poststop opens", () => {
  const names = ["init", "main", "clean"];
  const c = new Coordinator(new Map(ALL.filter(([name]) => names.includes(name))));
  c.update(states(names, [P, P, P]));
  c.update(states(names, [F, P, P]));
  expect(open(c, names)).toBe("init");
  c.update(states(names, [F, D, P]));
  expect(open(c, names)).toBe("clean");
});

it("skips stages that a group does not have, in one update", () => {
  const c = new Coordinator(new Map([["main", "main"]]));
  c.update(states(["main"], [P]));
  expect(c.state).toBe("main");
  c.update(states(["main"], [R]));
  expect(c.state).toBe("wait_alloc");
});

it("waits at the beginning until every task is pending, after a restart of all", () => {
  const names = ["init", "main"];
  const c = new Coordinator(new Map(ALL.filter(([name]) => names.includes(name))));
  c.update(states(names, [P, P]));
  c.update(states(names, [D, R]));
  c.restart();
  c.update(states(names, [D, R]));
  expect(open(c, names)).toBe("");
  c.update(states(names, [P, P]));
  expect(open(c, names)).toBe("init");
});

it("after a restart of the agent begins beyond the start, or it would wait for running tasks to be pending", () => {
  const names = ["init", "side", "main"];
  const c = new Coordinator(new Map(ALL.filter(([name]) => names.includes(name))));
  c.restore(states(names, [D, R, R]));
  expect(c.state).toBe("wait_alloc");
});

it("lets any number pass an open gate, and ends a wait with the signal's reason", async () => {
  const c = new Coordinator(
    new Map([
      ["a", "main"],
      ["b", "main"],
    ]),
  );
  const never = new AbortController();
  const waits = [c.wait("a", never.signal), c.wait("b", never.signal)];
  const stop = new AbortController();
  const stopped = c.wait("a", stop.signal);
  stop.abort(new Error("enough"));
  await expect(stopped).rejects.toThrow("enough");
  c.update(states(["a", "b"], [P, P]));
  await Promise.all(waits);
  await c.wait("a", never.signal);
});

it("does not know a task that is not there", () => {
  expect(new Coordinator(new Map()).isOpen("x")).toBe(false);
  expect(stageOf({ hook: "poststart", sidecar: false })).toBe("poststart");
  expect(stageOf({ hook: "", sidecar: false })).toBe("main");
});
