import assert from "node:assert/strict";
import { isOutriderError } from "@outrider/foundation";
import type { ConformanceCase } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

/** A disk with faults, and the shape of errors. */
export const ERROR_CASES: readonly ConformanceCase[] = [
  {
    id: "errors/shape",
    title: "an error has a code, the path as it was asked for, and a message without the host's paths or line breaks",
    async run(t) {
      await t.hands.write("web/local/f", "x");
      await t.hands.write("web/secrets/token", "s3cr3t");
      const { fifos, symlinks } = t.subject.capabilities;
      if (fifos) await t.hands.mkfifo("web/local/fifo");
      if (symlinks) await t.hands.symlink("loop", "web/local/loop");
      const odd = [...(fifos ? ["web/local/fifo"] : []), ...(symlinks ? ["web/local/loop"] : [])];
      for (const path of [
        "../x",
        "web/nothing",
        "web/local",
        "web/local/f/x",
        "web/secrets/token",
        "web/\n/x",
        ...odd,
      ]) {
        const error = await failureOf(() => t.alloc.readAt(path, 0), path);
        ok(isOutriderError(error), `${path}: no error of the package`);
        assert.match(error.code, /^ERR_OUTRIDER_ALLOCDIR_[A-Z_]+$/);
        assert.equal((error as { path?: string }).path, path);
        for (const host of [t.ctx.root, t.ctx.mountsRoot, t.alloc.allocDirPath])
          ok(!error.message.includes(host), `${path}: ${error.message}`);
        assert.doesNotMatch(error.message, /\n/);
      }
    },
  },
  {
    id: "errors/not-built",
    title: "without a build there is nothing, told by the words that callers look for",
    fresh: true,
    async run({ alloc }) {
      for (const call of [() => alloc.list("/"), () => alloc.stat("web"), () => alloc.readAt("web/local/f", 0)])
        assert.match(
          (await refused(call, ["NOT_BUILT", "NOT_FOUND"], "before build")).message,
          /no such file or directory/,
        );
    },
  },
  {
    id: "errors/vanished-folder",
    title: "a folder that somebody else took away is an error with a code, and a build heals it",
    needs: ["vanishingFolder"],
    async run(t) {
      await t.subject.faults?.vanish?.(t.place, t.ctx);
      await refused(() => t.alloc.list("/"), ["NOT_BUILT", "NOT_FOUND"], "list");
      await refused(() => t.alloc.stat("web/local"), ["NOT_BUILT", "NOT_FOUND"], "stat");
      await t.alloc.build();
      await t.task("web");
      await t.hands.write("web/local/f", "x");
      assert.equal((await t.alloc.stat("web/local/f")).Size, 1);
    },
  },
  {
    id: "errors/full-disk",
    title: "a build on a full disk is an error with a code, is not half done, and works when there is room",
    needs: ["fullDisk"],
    fresh: true,
    async run(t) {
      const mend = await t.subject.faults?.full?.(t.place, t.ctx);
      const error = await failureOf(async () => {
        await t.alloc.build();
        await t.task("web");
      }, "build on a full disk");
      assert.match(`${error.code} ${error.message} ${String(error.cause)}`, /ENOSPC|EDQUOT|no space/i);
      const left = (await t.leftovers()).filter((name) => name.includes(t.alloc.allocId));
      ok(t.alloc.state === "built" || left.length === 0, "a build that failed left something");
      await t.alloc.destroy();
      assert.deepEqual(
        (await t.leftovers()).filter((name) => name.includes(t.alloc.allocId)),
        [],
      );
      await mend?.();
      await t.alloc.build();
      await t.task("web");
      ok((await t.alloc.stat("web/local")).IsDir);
    },
  },
  {
    id: "errors/read-only-disk",
    title: "a read-only disk fails builds with a code and keeps what is readable readable",
    needs: ["readOnlyDisk"],
    async run(t) {
      await t.hands.write("web/local/f", "kept");
      const mend = await t.subject.faults?.readOnly?.(t.place, t.ctx);
      try {
        const error = await failureOf(() => t.task("job"), "a task on a read-only disk");
        assert.match(`${error.code} ${error.message} ${String(error.cause)}`, /EROFS|EACCES|EPERM|read-only/i);
        assert.equal((await t.alloc.stat("web/local/f")).Size, 4);
        ok(!(await t.alloc.list("/")).some((entry) => entry.Name === "job"), "half a task stays");
      } finally {
        await mend?.();
      }
      await t.task("job");
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "errors/read-only-destroy",
    title: "a destroy that cannot delete says so, keeps its state, and finishes later",
    needs: ["readOnlyDisk"],
    async run(t) {
      await t.hands.write("web/local/f", "kept");
      const mend = await t.subject.faults?.readOnly?.(t.place, t.ctx);
      try {
        await assert.rejects(t.alloc.destroy());
        assert.notEqual(t.alloc.state, "destroyed");
      } finally {
        await mend?.();
      }
      await t.alloc.destroy();
      assert.deepEqual(await t.leftovers(), []);
    },
  },
];
