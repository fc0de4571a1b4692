import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSystemMounter } from "../../local/system-mounter.ts";
import type { Mounter } from "../../mounter.ts";
import { currentUser, mountsBelow } from "../bench.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { ok } from "../ok.ts";
import { mountOptions } from "../mount-options.ts";

const USER = { uid: 12_345, gid: 12_346 };

async function unveiled(t: CaseBench, name: string): Promise<ReturnType<CaseBench["alloc"]["newTaskDir"]>> {
  const task = t.alloc.newTaskDir({ name });
  await task.build({ isolation: "unveil", user: t.subject.capabilities.chown ? USER : currentUser() });
  return task;
}

const view = (
  t: CaseBench,
  task: ReturnType<CaseBench["alloc"]["newTaskDir"]>,
): { dir: string; alloc: string; secrets: string } => {
  const { mountsTaskDir: dir, mountsAllocDir: alloc, mountsSecretsDir: secrets } = task;
  ok(
    dir !== undefined && alloc !== undefined && secrets !== undefined,
    "a layout with isolation unveil tells its view",
  );
  return t.place.view?.(task) ?? { dir, alloc, secrets };
};

/** Isolation `unveil`: the view that a task is shown. */
export const UNVEIL_CASES: readonly ConformanceCase[] = [
  {
    id: "unveil/view",
    title: "a task's view has its folders, the shared ones and its secrets, and shows the same files as the file API",
    needs: ["unveil", "onDisk"],
    async run(t) {
      const task = await unveiled(t, "job");
      const { dir, alloc, secrets } = view(t, task);
      writeFileSync(join(dir, "local/f"), "by the task");
      writeFileSync(join(alloc, "data/shared"), "shared");
      writeFileSync(join(secrets, "token"), "s3cr3t");
      writeFileSync(join(dir, "tmp/t"), "t");
      assert.equal((await t.alloc.stat("job/local/f")).Size, 11);
      assert.equal((await t.alloc.stat("alloc/data/shared")).Size, 6);
      assert.equal(await t.hands.read("job/secrets/token"), "s3cr3t");
      await refused(() => t.alloc.readAt("job/secrets/token", 0), "SECRET_FILE", "readAt");
      await t.hands.write("alloc/logs/job.stdout.0", "log");
      assert.equal(readFileSync(join(alloc, "logs/job.stdout.0"), "utf8"), "log");
    },
  },
  {
    id: "unveil/private-is-not-shown",
    title: "private files are not in a task's view",
    needs: ["unveil", "bindMounts"],
    async run(t) {
      const task = await unveiled(t, "job");
      await t.hands.write("job/private/token", "s3cr3t");
      assert.deepEqual(readdirSync(join(view(t, task).dir, "private")), []);
    },
  },
  {
    id: "unveil/modes-and-owners",
    title: "the view belongs to the task's user alone, the shared folder stays everybody's after a second task",
    needs: ["unveil", "bindMounts", "chown"],
    async run(t) {
      const job = view(t, await unveiled(t, "job"));
      const other = view(t, await unveiled(t, "other"));
      for (const { dir, secrets } of [job, other]) {
        for (const path of [dir, secrets]) {
          const { mode, uid, gid } = statSync(path);
          assert.deepEqual([(mode & 0o7777).toString(8), uid, gid], ["710", USER.uid, USER.gid], path);
        }
      }
      const { mode, uid } = statSync(job.alloc);
      assert.equal((mode & 0o7777).toString(8), "777");
      assert.notEqual(uid, USER.uid);
      assert.equal(statSync(t.alloc.shareDirPath).mode & 0o777, 0o777);
    },
  },
  {
    id: "unveil/flags-took-effect",
    title: "the binds really are without set-user-id",
    needs: ["unveil", "bindMounts"],
    async run(t) {
      const task = await unveiled(t, "job");
      const { dir, alloc, secrets } = view(t, task);
      for (const path of [dir, alloc, secrets]) {
        const options = mountOptions(path);
        assert.equal(options.length, 1, `${path} is mounted ${options.length} times`);
        assert.match(`${options[0]}`, /nosuid/);
      }
    },
  },
  {
    id: "unveil/again-stacks-nothing",
    title: "building again and looking after secrets stack no mounts",
    needs: ["unveil", "bindMounts"],
    async run(t) {
      const task = await unveiled(t, "job");
      await t.hands.write("job/secrets/token", "s3cr3t");
      const before = [...mountsBelow(t.ctx.root), ...mountsBelow(t.ctx.mountsRoot)];
      await unveiled(t, "job");
      await task.makeSecretsDirs();
      assert.deepEqual([...mountsBelow(t.ctx.root), ...mountsBelow(t.ctx.mountsRoot)], before);
      assert.equal(readFileSync(join(view(t, task).secrets, "token"), "utf8"), "s3cr3t");
    },
  },
  {
    id: "unveil/failed-step-rolls-back",
    title: "a step that fails takes back those before it, whichever it is",
    needs: ["unveil", "bindMounts"],
    fresh: true,
    async run(t) {
      const system = createSystemMounter();
      for (let failing = 0; ; failing++) {
        let step = 0;
        const fail =
          <A extends unknown[]>(fn: (...args: A) => Promise<void>) =>
          (...args: A): Promise<void> =>
            step++ === failing ? Promise.reject(new Error("the disk says no")) : fn(...args);
        const mounter: Mounter = {
          ...system,
          mountTmpfs: fail((target: string, mb: number) => system.mountTmpfs(target, mb)),
          bind: fail((...args: Parameters<typeof system.bind>) => system.bind(...args)),
        };
        const place = await t.another({ mounter });
        await place.alloc.build();
        const task = place.alloc.newTaskDir({ name: "job" });
        const work = task.build({ isolation: "unveil", user: USER });
        if (failing >= 5) {
          await work;
          break;
        }
        await assert.rejects(work, `step ${failing}`);
        assert.deepEqual(mountsBelow(`${task.mountsTaskDir}`), [], `step ${failing}: mounts of the view stay`);
        ok(!existsSync(`${task.mountsTaskDir}`), `step ${failing}: the view stays`);
        await place.alloc.destroy();
        assert.deepEqual(await t.leftovers(), []);
      }
    },
  },
  {
    id: "unveil/unmount-and-destroy",
    title: "after unmount the view is gone and the files are there; after destroy nothing is",
    needs: ["unveil", "bindMounts"],
    async run(t) {
      const task = await unveiled(t, "job");
      writeFileSync(join(view(t, task).dir, "local/f"), "kept");
      await task.unmount();
      await task.unmount();
      assert.deepEqual(mountsBelow(`${task.mountsTaskDir}`), []);
      ok(!existsSync(`${task.mountsTaskDir}`));
      assert.equal((await t.alloc.stat("job/local/f")).Size, 4);
      await unveiled(t, "job");
      assert.equal(readFileSync(join(view(t, task).dir, "local/f"), "utf8"), "kept");
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "unveil/needs-a-user",
    title: "without a user there is no such view, and nothing of it is made",
    needs: ["unveil"],
    async run(t) {
      const task = t.alloc.newTaskDir({ name: "job" });
      await refused(() => task.build({ isolation: "unveil" }), "UNSUPPORTED_ISOLATION", "build");
      assert.equal(await t.hands.exists("job/local"), false);
    },
  },
];
