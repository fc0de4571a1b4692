import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ok } from "../../src/conformance/ok.ts";
import {
  allocDirConformance,
  CONFORMANCE_CASES,
  diskHands,
  runAllocDirConformance,
  type AllocDirSubject,
} from "../../src/conformance/index.ts";
import { quickClock } from "../../src/conformance/quick-clock.ts";
import { tempAlloc } from "../temp-alloc.ts";
import { memory } from "./subjects.ts";

/** Lists nothing, and forgets to destroy. */
const broken: AllocDirSubject = {
  ...memory,
  name: "broken",
  create: (ctx) => {
    const place = memory.create(ctx) as Awaited<ReturnType<typeof memory.create>>;
    const alloc = Object.create(place.alloc, {
      list: { value: () => Promise.resolve([]) },
      destroy: { value: () => Promise.reject(new Error("not today")) },
    }) as typeof place.alloc;
    for (const name of ["build", "newTaskDir", "stat"] as const)
      Object.defineProperty(alloc, name, { value: place.alloc[name].bind(place.alloc) });
    return { ...place, alloc };
  },
};

/** Can do nothing beside the plain things. */
const plain: AllocDirSubject = {
  name: "plain",
  capabilities: { isolation: ["none"] },
  create: (ctx) => memory.create(ctx),
};

it("ids are unique, and named by group and case", () => {
  expect(new Set(CONFORMANCE_CASES).size).toBe(CONFORMANCE_CASES.length);
  for (const id of CONFORMANCE_CASES) expect(id).toMatch(/^[a-z]+\/[a-z-]+$/);
  expect(CONFORMANCE_CASES.length).toBeGreaterThan(180);
});

it("failures are told with their reason, the case's own before that of the tidying, and may end the run", async () => {
  const only = ["list/sorted-by-bytes", "list/empty", "stat/file"];
  const report = await runAllocDirConformance(broken, { only });
  expect(report).toMatchObject({ name: "broken", failed: 3, passed: 0 });
  expect(report.cases.map((one) => one.reason)).toEqual([
    expect.stringContaining("Expected values"),
    "not today",
    expect.stringMatching(/not today|Expected/),
  ]);
  const short = await runAllocDirConformance(broken, { only, bail: true });
  expect(short.cases.map(({ id }) => id)).toEqual(["list/sorted-by-bytes"]);
  expect(JSON.parse(JSON.stringify(short))).toEqual(short);
});

it("a known fault is skipped with its reason, until it is mended; unknown ids are refused", async () => {
  const skip = [{ reason: "written down somewhere", ids: ["list/empty"] }];
  expect((await runAllocDirConformance(broken, { skip, only: ["list/empty"] })).cases[0]).toMatchObject({
    result: "skipped",
    reason: "written down somewhere",
  });
  const mended = await runAllocDirConformance(memory, { skip, only: ["list/empty"] });
  expect(mended.cases[0]).toMatchObject({ result: "failed", reason: "list/empty holds: take it out of the skip list" });
  await expect(runAllocDirConformance(memory, { only: ["list/nothing"] })).rejects.toThrow("no case list/nothing");
  const unknown = [{ reason: "x", ids: ["list/nothing"] }];
  await expect(runAllocDirConformance(memory, { skip: unknown })).rejects.toThrow("no case list/nothing");
});

it("a runner that cannot skip gets a test that says so", async () => {
  const declared: [string, () => Promise<void>][] = [];
  const runner = {
    describe: (_title: string, body: () => void) => body(),
    it: (title: string, body: () => Promise<void>) => void declared.push([title, body]),
  };
  const skip = [{ reason: "x", ids: ["list/empty"] }];
  allocDirConformance(runner, plain, { groups: ["list"], skip });
  const of = (word: string): (() => Promise<void>) =>
    declared.find(([title]) => title.includes(word))?.[1] as () => Promise<void>;
  expect(declared.map(([title]) => title)).toContain("list/special-files is skipped: needs fifos");
  await of("list/special-files")();
  await expect(of("list/empty does not hold: x")()).rejects.toThrow("take it out");
  await of("list/missing")();
});

it("an implementation that can do little passes what is left, also among others", async () => {
  const report = await runAllocDirConformance(plain, {
    groups: ["destroy", "errors", "snapshot", "move", "cross"],
    others: [memory],
  });
  expect(report.cases.filter((one) => one.result === "failed")).toEqual([]);
  expect(report.cases.filter((one) => one.result === "skipped").length).toBeGreaterThan(10);
});

it("the clock of the cases runs ahead, and knows who waits", async () => {
  const clock = quickClock(50);
  const [now, start] = [clock.now(), clock.monotonic()];
  await new Promise<void>((resolve) => {
    clock.setTimeout(resolve, 2_000);
    clock.clearTimeout(clock.setTimeout(() => expect.fail("cleared"), 1_000));
    expect(clock.waiting).toBe(1);
  });
  expect([clock.waiting, clock.monotonic() - start >= 1_900, clock.now() >= now]).toEqual([0, true, true]);
});

it("hands on a disk see what is there, and nothing else", async () => {
  await using t = await tempAlloc();
  const hands = diskHands(t.alloc);
  expect(hands.read("web/local/none")).toBeUndefined();
  await hands.mkfifo("web/local/fifo");
  const ends = await hands.openFifo("web/local/fifo");
  expect(ends.take()).toBe("");
  ends.write("x");
  expect(ends.take()).toBe("x");
  ends.close();
  expect(() => ends.take()).toThrow("EBADF");
  const far = mkdtempSync(join(tmpdir(), "x".repeat(100)));
  try {
    expect(() => hands.socket(`${"../".repeat(12)}${far}/s`)).toThrow();
  } finally {
    rmSync(far, { recursive: true });
  }
  expect(() => ok(false)).toThrow("does not hold");
});
