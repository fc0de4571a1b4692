import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { FileReader } from "../../alloc-dir-fs.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { ok } from "../ok.ts";

/** A tree with everything that a deletion may stumble over. */
async function thicket(t: CaseBench): Promise<void> {
  const { capabilities } = t.subject;
  await t.hands.mkdir("web/local/a/b/c");
  await t.hands.write("web/local/a/b/c/f", "x");
  await t.hands.write("alloc/data/f", "x");
  await t.hands.write("alloc/logs/web.stdout.0", "x");
  await t.hands.write("web/secrets/token", "s3cr3t");
  await t.hands.mkdir("ghost/secrets");
  await t.hands.write("ghost/secrets/token", "s3cr3t");
  await t.hands.write("stray", "x");
  if (capabilities.symlinks) {
    await t.hands.symlink(t.outside, "web/local/dir");
    await t.hands.symlink(`${t.outside}/canary`, "alloc/data/file");
    await t.hands.symlink("loop", "web/local/loop");
  }
  if (capabilities.fifos) await t.hands.mkfifo("alloc/logs/.web.stdout.fifo");
  if (capabilities.sockets) await t.hands.socket("web/local/sock");
  if (capabilities.posixModes) {
    await t.hands.chmod("web/local/a/b/c/f", 0);
    await t.hands.chmod("web/local/a/b", 0);
    await t.hands.chmod("web/local/a", 0o500);
  }
}

const unharmed = (t: CaseBench): void => assert.equal(readFileSync(`${t.outside}/canary`, "utf8"), "outside");

export const DESTROY_CASES: readonly ConformanceCase[] = [
  {
    id: "destroy/leaves-nothing",
    title: "nothing stays, whatever a task left: links, fifos, sockets, closed folders; and nothing outside is touched",
    async run(t) {
      await thicket(t);
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
      unharmed(t);
      assert.equal(t.alloc.state, "destroyed");
    },
  },
  {
    id: "destroy/twice",
    title: "a second destroy resolves, also at the same time",
    async run(t) {
      await thicket(t);
      await Promise.all([t.alloc.destroy(), t.alloc.destroy(), t.alloc.destroy()]);
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/never-built",
    title: "what was never built is destroyed without complaint",
    fresh: true,
    async run(t) {
      t.alloc.newTaskDir({ name: "web" });
      await t.alloc.destroy();
      await t.alloc.unmountAll();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/disposal",
    title: "disposal is a destroy",
    async run(t) {
      await t.alloc[Symbol.asyncDispose]();
      assert.deepEqual(await t.leftovers(), []);
      assert.equal(t.alloc.state, "destroyed");
    },
  },
  {
    id: "destroy/leaves-others",
    title: "other allocations stay as they are",
    async run(t) {
      const other = await t.another();
      await other.alloc.build();
      await t.taskOf(t.subject, other, "web");
      await other.hands.write("web/local/f", "other");
      await t.alloc.destroy();
      assert.equal((await other.alloc.stat("web/local/f")).Size, 5);
      assert.equal(await other.hands.read("web/local/f"), "other");
    },
  },
  {
    id: "destroy/ends-readers",
    title: "open readers end, and what is asked for afterwards is not there",
    async run(t) {
      await t.hands.write("web/local/f", "x".repeat(100));
      const reader = await t.alloc.readAt("web/local/f", 0);
      assert.equal((await reader.read(10)).length, 10);
      await t.alloc.destroy();
      await refused(() => reader.read(10), "DESTROYED", "read");
      await reader.close();
      for (const call of [() => t.alloc.list("/"), () => t.alloc.stat("web"), () => t.alloc.readAt("web/local/f", 0)])
        await refused(call, ["DESTROYED", "NOT_BUILT", "NOT_FOUND"], "after destroy");
    },
  },
  {
    id: "destroy/hundred-readers",
    title: "a hundred readers during a destroy each get content or an error with a code",
    async run(t) {
      for (let i = 0; i < 20; i++) await t.hands.write(`web/local/f${i}`, "x".repeat(10_000));
      const work = Array.from({ length: 100 }, async (_, i) => {
        let reader: FileReader | undefined;
        try {
          for (;;) {
            reader = await t.alloc.readAt(`web/local/f${i % 20}`, 0);
            while ((await reader.read(1_000)).length > 0);
            await reader.close();
            // Readers that never touch a disk must not keep the destroy from its turn.
            await new Promise((resolve) => setImmediate(resolve));
          }
        } catch (reason) {
          await reader?.close();
          assert.match(String((reason as { code?: string }).code), /^ERR_OUTRIDER_ALLOCDIR_/, String(reason));
        }
      });
      await new Promise((resolve) => setImmediate(resolve));
      await t.alloc.destroy();
      await t.within(Promise.all(work), "the readers");
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/during-build",
    title: "a build and a destroy at the same time end in the state of the later one",
    async run(t) {
      const work = [t.alloc.build(), t.alloc.destroy(), t.alloc.build(), t.alloc.destroy()];
      await Promise.all(work);
      assert.equal(t.alloc.state, "destroyed");
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/deep-and-wide",
    title: "deep and wide trees are deleted",
    async run(t) {
      await t.hands.mkdir(`web/local/${"d/".repeat(100)}`);
      for (let i = 0; i < 150; i++) await t.hands.write(`web/local/f${i}`, "");
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/after-a-restart",
    title: "another object that knows no task removes all of an allocation",
    needs: ["persistent"],
    async run(t) {
      await thicket(t);
      await t.task("job");
      const { alloc } = await t.another({ same: true });
      await alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
      unharmed(t);
    },
  },
  {
    id: "destroy/after-a-restart-reads",
    title: "another object finds the files, and keeps secrets closed without knowing the task",
    needs: ["persistent"],
    async run(t) {
      await t.hands.write("web/local/f", "kept");
      await t.hands.write("web/secrets/token", "s3cr3t");
      const { alloc } = await t.another({ same: true });
      assert.equal((await alloc.stat("web/local/f")).Size, 4);
      ok((await alloc.list("/")).some((entry) => entry.Name === "web"));
      await refused(() => alloc.readAt("web/secrets/token", 0), "SECRET_FILE", "readAt");
    },
  },
  {
    id: "destroy/vanished-folder",
    title: "an allocation that somebody else took away is destroyed without complaint",
    needs: ["vanishingFolder"],
    async run(t) {
      await t.subject.faults?.vanish?.(t.place, t.ctx);
      await t.alloc.destroy();
      assert.equal(t.alloc.state, "destroyed");
    },
  },
  {
    id: "unmount/keeps-files",
    title: "taking mounts off keeps logs, data and local, may be done again, and is undone by a build",
    async run(t) {
      for (const path of ["web/local/f", "alloc/data/f", "alloc/logs/web.stdout.0"]) await t.hands.write(path, path);
      await t.alloc.unmountAll();
      await t.alloc.unmountAll();
      await t.alloc.getTaskDir("web")?.unmount();
      for (const path of ["web/local/f", "alloc/data/f", "alloc/logs/web.stdout.0"]) {
        assert.equal((await t.alloc.stat(path)).Size, path.length);
      }
      await t.task("web");
      await t.hands.write("web/secrets/token", "s3cr3t");
      assert.equal(await t.hands.read("web/local/f"), "web/local/f");
    },
  },
];
