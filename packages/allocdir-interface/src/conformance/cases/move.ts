import assert from "node:assert/strict";
import type { AllocDirSubject, AllocDirUnderTest } from "../subject.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { drain, refused } from "../expect.ts";
import { snapshotOf } from "./snapshot.ts";
import { ok } from "../ok.ts";

const text = async (place: AllocDirUnderTest, path: string): Promise<string> =>
  (await drain(await place.alloc.readAt(path, 0))).toString();

/** An allocation that was used: files in all places, of two tasks. */
async function used(t: CaseBench, subject: AllocDirSubject): Promise<AllocDirUnderTest> {
  const place = await t.another({ subject });
  await place.alloc.build();
  for (const name of ["web", "old"]) await t.taskOf(subject, place, name);
  for (const path of [
    "alloc/data/d",
    "web/local/l",
    "old/local/l",
    "alloc/logs/web.stdout.0",
    "web/secrets/token",
    "web/tmp/x",
  ])
    await place.hands.write(path, path);
  await place.hands.mkdir("alloc/data/deep/er");
  await place.hands.write("alloc/data/deep/er/f", "deep");
  await place.hands.chmod("alloc/data/deep/er/f", 0o640);
  await place.hands.touch("alloc/data/deep/er/f", 1_600_000_000_000);
  if (subject.capabilities.symlinks) await place.hands.symlink("l", "web/local/link");
  return place;
}

/** A move between two allocations that keeps what it should. */
async function moves(t: CaseBench, from: AllocDirSubject, to: AllocDirSubject): Promise<void> {
  const before = await used(t, from);
  const after = await t.another({ subject: to });
  await after.alloc.build();
  await t.taskOf(to, after, "web");
  await t.taskOf(to, after, "new");
  const report = await after.alloc.move(before.alloc, ["web", "new"]);
  assert.deepEqual([...report.moved].sort(), ["alloc/data", "web/local"]);
  assert.equal(await text(after, "alloc/data/d"), "alloc/data/d");
  assert.equal(await text(after, "web/local/l"), "web/local/l");
  const deep = await after.alloc.stat("alloc/data/deep/er/f");
  assert.deepEqual([deep.Size, deep.ModTime], [4, "2020-09-13T12:26:40Z"]);
  if (from.capabilities.posixModes && to.capabilities.posixModes) assert.equal(deep.FileMode, "-rw-r-----");
  if (from.capabilities.symlinks && to.capabilities.symlinks)
    assert.equal(await text(after, "web/local/link"), "web/local/l");
  for (const path of ["alloc/logs/web.stdout.0", "web/secrets/token", "web/tmp/x", "old/local/l"])
    assert.equal(await after.hands.exists(path), false, `${path} was moved, too`);
  // What a task of the new group finds is its to write.
  assert.equal((await after.alloc.stat("web/local")).FileMode, "drwxrwxrwx");
  // The previous allocation's logs stay readable until it is collected.
  assert.equal(await text(before, "alloc/logs/web.stdout.0"), "alloc/logs/web.stdout.0");
  assert.equal(await text(before, "old/local/l"), "old/local/l");
  await before.alloc.destroy();
  assert.equal(await text(after, "alloc/data/deep/er/f"), "deep");
}

export const MOVE_CASES: readonly ConformanceCase[] = [
  {
    id: "move/takes-over",
    title: "data and local of the new group's tasks are taken over, and nothing else",
    run: (t) => moves(t, t.subject, t.subject),
  },
  {
    id: "move/not-built",
    title: "nothing is moved into what is not built",
    fresh: true,
    async run(t) {
      const before = await used(t, t.subject);
      const error = await refused(() => t.alloc.move(before.alloc, ["web"]), "NOT_BUILT", "move");
      assert.match(error.message, /not built/);
      assert.equal(await text(before, "web/local/l"), "web/local/l");
    },
  },
  {
    id: "move/non-empty-target",
    title: "a target that has files already is an error, and nothing is lost on either side",
    async run(t) {
      for (const own of ["alloc/data/own", "web/local/own"]) {
        const before = await used(t, t.subject);
        const after = await t.another();
        await after.alloc.build();
        await t.taskOf(t.subject, after, "web");
        await after.hands.write(own, "own");
        await refused(() => after.alloc.move(before.alloc, ["web"]), "NOT_EMPTY", "move");
        assert.equal(await text(after, own), "own");
        assert.equal(await text(before, "alloc/data/d"), "alloc/data/d");
        assert.equal(await text(before, "web/local/l"), "web/local/l");
        for (const path of ["alloc/data/d", "web/local/l"])
          assert.equal(await after.hands.exists(path), false, `${path} was moved all the same`);
      }
    },
  },
  {
    id: "move/missing-source",
    title: "what the previous allocation does not have is not missed",
    async run(t) {
      const before = await used(t, t.subject);
      await before.hands.remove("alloc/data");
      await before.hands.remove("web/local");
      const report = await t.alloc.move(before.alloc, ["web", "nope"]);
      assert.deepEqual(report.moved, []);
      assert.deepEqual(await t.alloc.list("web/local"), []);
      assert.deepEqual(await t.alloc.list("alloc/data"), []);
    },
  },
  {
    id: "move/link-in-place",
    title: "a link where data or local should be is left out and told of, never followed",
    needs: ["symlinks"],
    async run(t) {
      const before = await used(t, t.subject);
      await before.hands.remove("alloc/data");
      await before.hands.symlink(t.outside, "alloc/data");
      await before.hands.remove("web/local");
      await before.hands.symlink("secrets", "web/local");
      const report = await t.alloc.move(before.alloc, ["web"]);
      assert.deepEqual(report.moved, []);
      assert.deepEqual(report.skipped.map((one) => one.path).sort(), ["alloc/data", "web/local"]);
      assert.deepEqual(await t.alloc.list("web/local"), []);
      ok((await t.alloc.stat("alloc/data")).IsDir);
      assert.equal(await before.hands.read("web/secrets/token"), "web/secrets/token");
    },
  },
  {
    id: "move/bad-names",
    title: "a task name that is no plain segment is refused before anything is moved",
    async run(t) {
      const before = await used(t, t.subject);
      for (const name of ["..", ".", "a/b", ""])
        await refused(() => t.alloc.move(before.alloc, [name]), "BAD_NAME", JSON.stringify(name));
      assert.equal(await text(before, "alloc/data/d"), "alloc/data/d");
    },
  },
  {
    id: "move/abort",
    title: "a move that was aborted before moves nothing",
    async run(t) {
      const before = await used(t, t.subject);
      const reason = new Error("stop");
      await assert.rejects(t.alloc.move(before.alloc, ["web"], { signal: AbortSignal.abort(reason) }), reason);
      assert.equal(await text(before, "web/local/l"), "web/local/l");
      assert.deepEqual(await t.alloc.list("web/local"), []);
    },
  },
  {
    id: "cross/move-from-another",
    title: "a move from other implementations keeps what a move keeps",
    needs: ["otherImplementations"],
    async run(t) {
      for (const other of t.others) await moves(t, other, t.subject);
    },
  },
  {
    id: "cross/move-to-another",
    title: "other implementations can move from this one",
    needs: ["otherImplementations"],
    async run(t) {
      for (const other of t.others) await moves(t, t.subject, other);
    },
  },
  {
    id: "cross/same-snapshot",
    title: "the same files make the same archive in every implementation",
    needs: ["otherImplementations"],
    async run(t) {
      const entriesOf = async (subject: AllocDirSubject): Promise<unknown[]> => {
        const place = await used(t, subject);
        const paths = [
          "alloc/data/deep/er",
          "alloc/data/deep",
          "alloc/data/d",
          "alloc/data",
          "web/local/l",
          "web/local",
          "old/local/l",
          "old/local",
        ];
        for (const path of paths) {
          await place.hands.touch(path, 1_600_000_000_000);
          await place.hands.chmod(path, 0o755);
        }
        const { entries } = await snapshotOf(place.alloc);
        return entries
          .filter((entry) => entry.type !== "2")
          .map((entry) => [entry.name, entry.type, entry.mode & 0o777, entry.mtime, entry.data.toString()]);
      };
      const own = await entriesOf(t.subject);
      for (const other of t.others) assert.deepEqual(await entriesOf(other), own, other.name);
    },
  },
];
