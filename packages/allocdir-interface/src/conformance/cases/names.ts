import assert from "node:assert/strict";
import { isAbsolute, join } from "node:path";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { ok } from "../ok.ts";

const names = async (
  t: { alloc: { list(path: string): Promise<{ Name: string }[]> } },
  path: string,
): Promise<string[]> => (await t.alloc.list(path)).map((entry) => entry.Name);

/** Names that must not become folders. */
const refuses = (id: string, title: string, bad: readonly string[]): ConformanceCase => ({
  id: `names/${id}`,
  title,
  async run(t) {
    const before = [await names(t, "/"), await t.leftovers()];
    for (const name of bad) {
      await refused(() => t.alloc.newTaskDir({ name }), "BAD_NAME", `task ${JSON.stringify(name)}`);
      assert.equal(t.alloc.getTaskDir(name), undefined);
    }
    assert.deepEqual([await names(t, "/"), await t.leftovers()], before);
  },
});

/** Accessors, and names of tasks and allocations. */
export const NAME_CASES: readonly ConformanceCase[] = [
  {
    id: "accessors/paths-of-the-allocation",
    title: "the paths of an allocation are absolute and never change",
    fresh: true,
    async run(t) {
      const { alloc } = t;
      const before = [alloc.allocDirPath, alloc.shareDirPath, alloc.allocId];
      ok(isAbsolute(alloc.allocDirPath) && alloc.allocDirPath.endsWith(alloc.allocId));
      assert.equal(alloc.shareDirPath, join(alloc.allocDirPath, "alloc"));
      assert.equal(alloc.allocId, t.ctx.allocId);
      await alloc.build();
      await alloc.destroy();
      assert.deepEqual([alloc.allocDirPath, alloc.shareDirPath, alloc.allocId], before);
    },
  },
  {
    id: "accessors/paths-of-a-task",
    title: "a task knows its folders, inside its own one, and the shared ones",
    async run(t) {
      const dir = t.alloc.getTaskDir("web");
      ok(dir !== undefined);
      assert.deepEqual(
        [dir.name, dir.allocDir, dir.sharedAllocDir, dir.logDir],
        ["web", t.alloc.allocDirPath, t.alloc.shareDirPath, join(t.alloc.shareDirPath, "logs")],
      );
      assert.deepEqual(
        [dir.localDir, dir.secretsDir, dir.privateDir, dir.tmpDir, dir.sharedTaskDir],
        ["local", "secrets", "private", "tmp", "alloc"].map((name) => join(dir.dir, name)),
      );
      ok(isAbsolute(dir.dir));
    },
  },
  {
    id: "accessors/unknown-task",
    title: "an unknown task has no directory, a known one always the same",
    async run(t) {
      assert.equal(t.alloc.getTaskDir("nope"), undefined);
      const dir = t.alloc.newTaskDir({ name: "job" });
      assert.equal(t.alloc.getTaskDir("job"), dir);
      assert.equal(t.alloc.newTaskDir({ name: "job" }).dir, dir.dir);
    },
  },
  {
    id: "accessors/new-task-makes-nothing",
    title: "a task is registered without touching the disk",
    async run(t) {
      t.alloc.newTaskDir({ name: "job" });
      assert.deepEqual((await names(t, "/")).sort(), ["alloc", "web"]);
    },
  },
  {
    id: "accessors/state",
    title: "the state goes from new to built to destroyed and back to built",
    fresh: true,
    async run({ alloc }) {
      const states = [alloc.state];
      await alloc.build();
      states.push(alloc.state);
      const ending = alloc.destroy();
      await Promise.resolve();
      await ending;
      states.push(alloc.state);
      await alloc.build();
      states.push(alloc.state);
      assert.deepEqual(states, ["new", "built", "destroyed", "built"]);
    },
  },
  refuses("dots-refused", "a task named . or .. is refused before anything is made", [".", ".."]),
  refuses("separators-refused", "a task name is one path segment", ["a/b", "/a", "a/", "a\\b", "../a", "a/../b"]),
  refuses("control-characters-refused", "a task name has nothing unprintable", [
    "a\0b",
    "a\nb",
    "\u001b[31m",
    "a\u007f",
    "\ud800",
  ]),
  refuses("reserved-refused", "a task may not be called alloc, or nothing", ["", "alloc"]),
  refuses("length-limited", "a task name has at most 200 bytes", ["x".repeat(201), "ä".repeat(101)]),
  {
    id: "names/odd-names-work",
    title: "odd but plain names are names like others",
    async run(t) {
      const odd = ["..web", "...", "a b", "web.stdout", "secrets", "-rf", "Größe", "x".repeat(200)];
      for (const name of odd) {
        await t.task(name);
        await t.hands.write(`${name}/local/f`, name);
        assert.equal((await t.alloc.stat(`${name}/local/f`)).Size, Buffer.byteLength(name));
      }
      const listed = await names(t, "/");
      for (const name of odd) ok(listed.includes(name), `${name} is not listed`);
    },
  },
  {
    id: "names/alloc-id-is-a-uuid",
    title: "an allocation id that is no UUID is refused: it becomes part of paths",
    fresh: true,
    async run(t) {
      const good = t.ctx.allocId;
      for (const allocId of ["", "..", "../x", `${good}/..`, `${good}x`, ` ${good}`, good.toUpperCase(), `${good}\n`])
        await refused(() => t.subject.create({ ...t.ctx, allocId }), "BAD_NAME", JSON.stringify(allocId));
    },
  },
];
