import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSystemMounter } from "../../local/system-mounter.ts";
import type { Mounter } from "../../mounter.ts";
import { currentUser, mountsBelow } from "../bench.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { ok } from "../ok.ts";

const MEBIBYTE = 1024 * 1024;
const TMPFS = 0x01021994;

/** Whether a mount on this path has an option. */
const mountOptions = (path: string): string[] =>
  readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.split(" ")[4] === path)
    .map((line) => `${line.split(" ")[5]}`);

const size = (path: string): number => {
  const { bsize, blocks, type } = statfsSync(path);
  assert.equal(type, TMPFS, `${path} is no tmpfs`);
  return bsize * blocks;
};

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

/** Secrets on mounts of their own, and isolation `unveil`. */
export const MOUNT_CASES: readonly ConformanceCase[] = [
  {
    id: "secrets/sized-and-without-exec",
    title: "secrets are a tmpfs of the size asked for, 1 MiB if none was, from which nothing is executed",
    needs: ["tmpfsSecrets"],
    async run(t) {
      const big = await t.task("big", { secretsMB: 3 });
      const small = await t.task("small");
      assert.deepEqual([size(big.secretsDir), size(big.privateDir)], [3 * MEBIBYTE, MEBIBYTE]);
      assert.deepEqual([size(small.secretsDir), size(small.privateDir)], [MEBIBYTE, MEBIBYTE]);
      for (const path of [big.secretsDir, big.privateDir]) assert.match(`${mountOptions(path)[0]}`, /noexec/);
    },
  },
  {
    id: "secrets/kept-on-every-start",
    title: "looking after secrets before each start keeps what is in them",
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      const task = t.alloc.getTaskDir("web");
      const before = mountsBelow(t.ctx.root).length + mountsBelow(t.ctx.mountsRoot).length;
      for (let i = 0; i < 3; i++) await task?.makeSecretsDirs();
      assert.equal(await t.hands.read("web/secrets/token"), "s3cr3t");
      assert.equal(
        mountsBelow(t.ctx.root).length + mountsBelow(t.ctx.mountsRoot).length,
        before,
        "mounts were stacked",
      );
    },
  },
  {
    id: "secrets/remade",
    title: "secrets that are gone are made again",
    async run(t) {
      await t.alloc.unmountAll();
      await t.hands.remove("web/private");
      await t.alloc.getTaskDir("web")?.makeSecretsDirs();
      await t.hands.write("web/private/token", "s3cr3t");
      assert.equal(await t.hands.read("web/private/token"), "s3cr3t");
      await refused(() => t.alloc.readAt("web/private/token", 0), "PRIVATE_FILE", "readAt");
    },
  },
  {
    id: "secrets/marker-means-nothing",
    title: "a marker file that a task deletes or plants neither stacks a mount nor saves one",
    needs: ["tmpfsSecrets"],
    async run(t) {
      const task = t.alloc.getTaskDir("web");
      ok(task);
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.hands.remove("web/secrets/.nomad-mount");
      await task.makeSecretsDirs();
      assert.equal(mountsBelow(task.secretsDir).length, 1, "stacked");
      assert.equal(await t.hands.read("web/secrets/token"), "s3cr3t");
      await t.alloc.unmountAll();
      writeFileSync(join(task.secretsDir, ".nomad-mount"), "");
      await task.makeSecretsDirs();
      assert.equal(mountsBelow(task.secretsDir).length, 1, "not mounted");
    },
  },
  {
    id: "secrets/gone-with-their-mount",
    title: "secrets are never on the disk below their mount",
    needs: ["tmpfsSecrets"],
    async run(t) {
      const task = t.alloc.getTaskDir("web");
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.alloc.unmountAll();
      assert.deepEqual(mountsBelow(t.ctx.root), []);
      assert.deepEqual(readdirSync(`${task?.secretsDir}`), []);
    },
  },
  {
    id: "destroy/stacked-mounts",
    title: "mounts stacked on one another and mounts of others below the allocation are all taken off",
    needs: ["tmpfsSecrets"],
    async run(t) {
      const task = t.alloc.getTaskDir("web");
      ok(task);
      const mounter = createSystemMounter();
      await mounter.mountTmpfs(task.secretsDir, 1);
      await mounter.mountTmpfs(task.secretsDir, 1);
      mkdirSync(join(task.localDir, "a b\\c"));
      await mounter.mountTmpfs(join(task.localDir, "a b\\c"), 1);
      mkdirSync(join(task.localDir, "a b\\c/deeper"));
      await mounter.mountTmpfs(join(task.localDir, "a b\\c/deeper"), 1);
      mkdirSync(join(t.alloc.allocDirPath, "ghost"));
      await mounter.mountTmpfs(join(t.alloc.allocDirPath, "ghost"), 1);
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/never-through-a-mount",
    title: "a mount that cannot be taken off is an error, and nothing below it is deleted",
    needs: ["tmpfsSecrets"],
    async run(t) {
      const system = createSystemMounter();
      let stuck = true;
      const mounter: Mounter = {
        ...system,
        unmount: (target, o) =>
          stuck && target.endsWith("/stuck")
            ? Promise.reject(Object.assign(new Error("busy"), { code: "EBUSY" }))
            : system.unmount(target, o),
      };
      const place = await t.another({ mounter });
      await place.alloc.build();
      const task = await t.taskOf(t.subject, place, "web");
      const target = join(task.localDir, "stuck");
      mkdirSync(target);
      await system.mountTmpfs(target, 1);
      writeFileSync(join(target, "kept"), "kept");
      await refused(() => t.within(place.alloc.destroy(), "destroy", 20_000), "BUSY", "destroy");
      assert.equal(readFileSync(join(target, "kept"), "utf8"), "kept");
      stuck = false;
      await place.alloc.destroy();
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "destroy/bound-folder",
    title: "what is bound into the allocation from elsewhere is let go of, never emptied",
    needs: ["bindMounts"],
    async run(t) {
      const task = t.alloc.getTaskDir("web");
      ok(task);
      const target = join(task.localDir, "bound");
      mkdirSync(target);
      const mounter = createSystemMounter();
      await mounter.bind(t.outside, target);
      ok(existsSync(join(target, "canary")));
      await t.alloc.destroy();
      assert.equal(readFileSync(join(t.outside, "canary"), "utf8"), "outside");
      assert.deepEqual(await t.leftovers(), []);
    },
  },
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
