import assert from "node:assert/strict";
import type { AllocDir } from "../../types.ts";
import { currentUser } from "../bench.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

const names = async (alloc: AllocDir, path: string): Promise<string[]> =>
  (await alloc.list(path)).map((entry) => entry.Name);

/** Modes as the file API tells them. */
const modes = async (t: CaseBench, paths: readonly string[]): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const path of paths) found[path] = (await t.alloc.stat(path)).FileMode;
  return found;
};

const OPEN = "drwxrwxrwx";
const SHARED = { "/": "drwxr-xr-x", alloc: OPEN, "alloc/data": OPEN, "alloc/logs": OPEN, "alloc/tmp": OPEN };
const TASK = { "web/local": OPEN, "web/tmp": "dtrwxrwxrwx" };
/** What a task's folder holds; in some layouts also the place where the shared folder is shown. */
const taskNames = async (t: CaseBench, task: string): Promise<string[]> =>
  (await names(t.alloc, task)).filter((name) => name !== "alloc" || t.subject.capabilities.bindMounts !== true);

/** With isolation `unveil`, the task's folder and its secrets belong to its user alone. */
const taskModes = (t: CaseBench): Record<string, string> =>
  t.subject.capabilities.bindMounts && t.subject.capabilities.isolation[0] === "unveil"
    ? TASK
    : { web: OPEN, ...TASK, "web/secrets": OPEN, "web/private": OPEN };

export const BUILD_CASES: readonly ConformanceCase[] = [
  {
    id: "build/makes-the-shared-tree",
    title: "an allocation has data, logs and tmp, and nothing else",
    fresh: true,
    async run({ alloc }) {
      await alloc.build();
      assert.deepEqual(await names(alloc, "/"), ["alloc"]);
      assert.deepEqual(await names(alloc, "/alloc"), ["data", "logs", "tmp"]);
      for (const dir of ["data", "logs", "tmp"]) assert.deepEqual(await names(alloc, `/alloc/${dir}`), []);
    },
  },
  {
    id: "build/makes-a-task-tree",
    title: "a task has local, private, secrets and tmp",
    async run(t) {
      assert.deepEqual(await names(t.alloc, "/"), ["alloc", "web"]);
      assert.deepEqual(await taskNames(t, "web"), ["local", "private", "secrets", "tmp"]);
      for (const dir of ["local", "private", "secrets", "tmp"]) ok(await t.hands.exists(`web/${dir}`), dir);
    },
  },
  {
    id: "build/tasks-keep-apart",
    title: "each task has folders of its own",
    async run(t) {
      await t.task("job");
      await t.hands.write("web/local/f", "web");
      await t.hands.write("job/local/f", "job!");
      assert.equal((await t.alloc.stat("web/local/f")).Size, 3);
      assert.equal((await t.alloc.stat("job/local/f")).Size, 4);
    },
  },
  {
    id: "build/again-keeps-content",
    title: "building again keeps what is there",
    async run(t) {
      for (const path of ["web/local/f", "alloc/data/f", "alloc/logs/web.stdout.0", "web/secrets/s", "web/tmp/t"])
        await t.hands.write(path, path);
      await t.alloc.build();
      await t.task("web");
      for (const path of ["web/local/f", "alloc/data/f", "alloc/logs/web.stdout.0", "web/secrets/s", "web/tmp/t"])
        assert.equal(await t.hands.read(path), path);
    },
  },
  {
    id: "build/several-at-once",
    title: "builds at the same time do not disturb each other",
    fresh: true,
    async run(t) {
      await Promise.all(Array.from({ length: 5 }, () => t.alloc.build()));
      await Promise.all(["a", "b", "c"].map((name) => t.task(name)));
      assert.deepEqual(await names(t.alloc, "/"), ["a", "alloc", "b", "c"]);
      assert.equal(t.alloc.state, "built");
    },
  },
  {
    id: "build/modes",
    title: "folders have the modes that tasks of any user need",
    needs: ["posixModes"],
    async run(t) {
      const wanted = { ...SHARED, ...taskModes(t) };
      assert.deepEqual(await modes(t, Object.keys(wanted)), wanted);
    },
  },
  {
    id: "build/umask-does-not-matter",
    title: "modes are the same under umask 077",
    needs: ["posixModes", "umask"],
    fresh: true,
    async run(t) {
      const before = process.umask(0o077);
      try {
        await t.alloc.build();
        await t.task("web");
      } finally {
        process.umask(before);
      }
      const wanted = { ...SHARED, ...taskModes(t) };
      assert.deepEqual(await modes(t, Object.keys(wanted)), wanted);
    },
  },
  {
    id: "build/modes-are-set-anew",
    title: "building again gives back modes that a task took away",
    needs: ["posixModes"],
    async run(t) {
      for (const path of ["alloc/data", "alloc/logs", "web/local", "web/tmp"]) await t.hands.chmod(path, 0o700);
      await t.alloc.build();
      await t.task("web");
      const wanted = { ...SHARED, ...taskModes(t) };
      assert.deepEqual(await modes(t, Object.keys(wanted)), wanted);
    },
  },
  {
    id: "build/owner",
    title: "shared folders belong to nobody",
    needs: ["chown"],
    async run(t) {
      const mine = currentUser().uid;
      for (const path of ["alloc", "alloc/data", "alloc/logs", "alloc/tmp", "web/local", "web/tmp"])
        assert.notEqual((await t.hands.owner(path)).uid, mine, `${path} belongs to the process`);
    },
  },
  {
    id: "build/link-in-place-refused",
    title: "a link where a task's folder belongs is not followed",
    needs: ["symlinks"],
    async run(t) {
      const fresh = t.alloc.newTaskDir({ name: "evil" });
      await t.hands.symlink(t.outside, "evil");
      await refused(() => buildAs(t, fresh), "NOT_DIRECTORY", "build on a link");
      await t.hands.remove("web/local");
      await t.hands.symlink(t.outside, "web/local");
      await refused(() => t.task("web"), "NOT_DIRECTORY", "build of local on a link");
      await t.hands.remove("alloc/logs");
      await t.hands.symlink(t.outside, "alloc/logs");
      await refused(() => t.alloc.build(), "NOT_DIRECTORY", "build of logs on a link");
    },
  },
  {
    id: "build/file-in-place-refused",
    title: "a file where a folder belongs is an error, and stays",
    async run(t) {
      await t.hands.remove("web/local");
      await t.hands.write("web/local", "a file");
      await refused(() => t.task("web"), "NOT_DIRECTORY", "build on a file");
      assert.equal(await t.hands.read("web/local"), "a file");
      await t.hands.remove("web/local");
      await t.task("web");
      ok((await t.alloc.stat("web/local")).IsDir);
    },
  },
  {
    id: "build/abort-makes-nothing",
    title: "a build that was aborted before makes nothing",
    fresh: true,
    async run({ alloc, leftovers }) {
      const reason = new Error("stop");
      await assert.rejects(alloc.build({ signal: AbortSignal.abort(reason) }), reason);
      assert.deepEqual(await leftovers(), []);
      assert.equal(alloc.state, "new");
    },
  },
  {
    id: "build/other-isolation-refused",
    title: "an isolation that the layout does not know is refused before anything is made",
    async run(t) {
      const known = t.subject.capabilities.isolation;
      for (const isolation of ["none", "chroot", "image", "unveil"] as const) {
        if (known.includes(isolation)) continue;
        const task = t.alloc.newTaskDir({ name: "job" });
        await refused(() => task.build({ isolation, user: { uid: 1, gid: 1 } }), "UNSUPPORTED_ISOLATION", isolation);
        assert.equal(await t.hands.exists("job"), false, `${isolation} left something`);
      }
    },
  },
  {
    id: "build/each-isolation",
    title: "each isolation that the layout knows makes the same tree",
    async run(t) {
      for (const isolation of t.subject.capabilities.isolation) {
        const name = `job-${isolation}`;
        await t.alloc.newTaskDir({ name }).build({ isolation, user: currentUser() });
        assert.deepEqual(await taskNames(t, name), ["local", "private", "secrets", "tmp"]);
      }
    },
  },
  {
    id: "build/task-before-allocation",
    title: "a task's folder is not made where the allocation has none, and the error has a code",
    fresh: true,
    async run(t) {
      await failureOf(() => buildAs(t, t.alloc.newTaskDir({ name: "web" })), "task without an allocation");
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "build/missing-folders-come-back",
    title: "building again makes what somebody took away",
    async run(t) {
      await t.hands.remove("alloc/logs");
      await t.hands.remove("web/local");
      await t.alloc.build();
      await t.task("web");
      assert.deepEqual(await names(t.alloc, "alloc"), ["data", "logs", "tmp"]);
      assert.deepEqual(await taskNames(t, "web"), ["local", "private", "secrets", "tmp"]);
    },
  },
  {
    id: "build/again-after-destroy",
    title: "after a destroy, a build gives a clean slate",
    async run(t) {
      await t.hands.write("web/local/old", "old");
      await t.hands.write("alloc/data/old", "old");
      await t.alloc.destroy();
      await t.alloc.build();
      await t.task("web");
      assert.deepEqual(await names(t.alloc, "web/local"), []);
      assert.deepEqual(await names(t.alloc, "alloc/data"), []);
      await t.hands.write("web/local/new", "new");
      assert.equal((await t.alloc.stat("web/local/new")).Size, 3);
    },
  },
];

/** Builds with the first isolation mode of the implementation. */
export function buildAs(t: CaseBench, task: ReturnType<AllocDir["newTaskDir"]>): Promise<void> {
  const [isolation] = t.subject.capabilities.isolation;
  return task.build({ isolation, user: currentUser() });
}
