import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSystemMounter } from "../../local/system-mounter.ts";
import type { Mounter } from "../../mounter.ts";
import { mountsBelow } from "../bench.ts";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { ok } from "../ok.ts";
import { mountOptions } from "../mount-options.ts";

const MEBIBYTE = 1024 * 1024;
const TMPFS = 0x01021994;

const size = (path: string): number => {
  const { bsize, blocks, type } = statfsSync(path);
  assert.equal(type, TMPFS, `${path} is no tmpfs`);
  return bsize * blocks;
};

/** Secrets on mounts of their own, and mounts that stand in the way of a destroy. */
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
];
