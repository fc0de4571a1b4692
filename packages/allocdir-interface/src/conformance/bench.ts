import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "@outrider/backoff";
import { parseMountinfo } from "../local/mountinfo.ts";
import type { CaseBench, ConformanceCase } from "./case.ts";
import { quickClock } from "./quick-clock.ts";
import type { AllocDirSubject, AllocDirUnderTest, ConformanceContext } from "./subject.ts";
import { ok } from "./ok.ts";

/** How many times faster than real time the implementations' waits run. */
const SPEED = 25;
/** Descriptors may be closed a little after the call that used them. */
const CLOSING_TRIES = 200;
const TURN_MS = 2;
const UNTIL_TRIES = 2_000;

const pad = (n: number): string => n.toString(16).padStart(12, "0");
const idOf = (n: number): string => `0a1b2c3d-0000-4000-8000-${pad(n)}`;

const descriptors = (): number => readdirSync("/proc/self/fd").length;
const turn = (): Promise<void> => new Promise((resolve) => systemClock.setTimeout(resolve, TURN_MS));

interface Made {
  readonly place: AllocDirUnderTest;
  readonly ctx: ConformanceContext;
}

/** Runs one case on places of its own, and looks at what it leaves behind. */
export async function runCase(
  one: ConformanceCase,
  subject: AllocDirSubject,
  o: { readonly others: readonly AllocDirSubject[]; readonly stepMs: number },
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "allocdir-"));
  const clock = quickClock(SPEED);
  const made: Made[] = [];
  let count = 0;
  const outside = join(home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "canary"), "outside");
  const contextOf = (n: number, allocId: string): ConformanceContext => {
    const [root, mountsRoot] = [join(home, `${n}`, "allocs"), join(home, `${n}`, "mounts")];
    for (const dir of [root, mountsRoot]) mkdirSync(dir, { recursive: true });
    return { allocId, root, mountsRoot, clock };
  };
  const create = async (who: AllocDirSubject, ctx: ConformanceContext): Promise<AllocDirUnderTest> => {
    const place = await who.create(ctx);
    made.push({ place, ctx });
    return place;
  };
  const within = <T>(work: Promise<T>, what: string, ms = o.stepMs): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = systemClock.setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
      void work.then(resolve, reject).finally(() => systemClock.clearTimeout(timer));
    });
  // The first watch of a process opens a descriptor that stays.
  watch(home).close();
  const first = contextOf(count, idOf(count));
  const before = descriptors();
  let failure: unknown;
  try {
    const place = await create(subject, first);
    const bench: CaseBench = {
      subject,
      others: o.others,
      ctx: first,
      clock,
      alloc: place.alloc,
      hands: place.hands,
      place,
      outside,
      within,
      task: (name, options) => buildTask(subject, place, name, options),
      taskOf: (who, where, name) => buildTask(who, where, name),
      another: (options = {}) => {
        const ctx = options.same ? first : contextOf(++count, options.allocId ?? idOf(count));
        return create(options.subject ?? subject, { ...ctx, ...(options.mounter ? { mounter: options.mounter } : {}) });
      },
      leftovers: async () => (await Promise.all(made.map(leftoversOf))).flat(),
      until: async (check, what) => {
        for (let i = 0; i < UNTIL_TRIES; i++) {
          if (await check()) return;
          await turn();
        }
        assert.fail(`${what}: did not happen`);
      },
      pause: (ms) => sleep(ms, { clock }),
    };
    if (!one.fresh) {
      await place.alloc.build();
      await bench.task("web");
    }
    await within(one.run(bench), "the case", o.stepMs * 3);
  } catch (reason) {
    failure = reason;
  }
  // Whatever happened: nothing stays on the machine, and a failure of the case is told rather than one of the tidying.
  for (const { place } of made) {
    await within(place.alloc.destroy(), "destroy after the case").catch((reason: unknown) => (failure ??= reason));
  }
  for (let i = 0; i < CLOSING_TRIES && (descriptors() > before || clock.waiting > 0); i++) await turn();
  const [open, waiting] = [descriptors(), clock.waiting];
  rmSync(home, { recursive: true, force: true });
  if (failure !== undefined) throw failure;
  ok(open <= before, `${open - before} descriptors stay open`);
  assert.equal(waiting, 0, "timers that still wait");
}

async function buildTask(
  subject: AllocDirSubject,
  place: AllocDirUnderTest,
  name: string,
  o: { readonly secretsMB?: number } = {},
): Promise<ReturnType<AllocDirUnderTest["alloc"]["newTaskDir"]>> {
  const task = place.alloc.newTaskDir({ name, ...o });
  const [isolation] = subject.capabilities.isolation;
  await task.build({ isolation, ...(isolation === "unveil" ? { user: currentUser() } : {}) });
  return task;
}

/** Whoever runs the suite. */
export const currentUser = (): { uid: number; gid: number } => ({
  uid: Number(process.getuid?.()),
  gid: Number(process.getgid?.()),
});

/** Mounts below a folder, oldest first. */
export const mountsBelow = (path: string): string[] =>
  parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"), path).map(({ target }) => target);

async function leftoversOf({ place, ctx }: Made): Promise<readonly string[]> {
  if (place.leftovers !== undefined) return place.leftovers();
  return [ctx.root, ctx.mountsRoot].flatMap((dir) => [...mountsBelow(dir), ...readdirSync(dir)]);
}
