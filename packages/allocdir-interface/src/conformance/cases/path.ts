import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";
import { refusedBy, textAt } from "../ways-in.ts";

/** How a path is read. Each published attack by a path is a case here or in the files beside, or with snapshots and moves. */
export const PATH_CASES: readonly ConformanceCase[] = [
  {
    id: "path/dotdot-refused",
    title: "dots that leave the allocation are refused before any file is looked at",
    async run(t) {
      for (const path of [
        "..",
        "../",
        "../x",
        "/..",
        "/../etc/passwd",
        "web/../..",
        "web/../../x",
        "nothing/../../etc",
        "web/local/../../../x",
      ])
        await refusedBy(t, path, "PATH_ESCAPES");
      const error = await failureOf(() => t.alloc.stat("../x"), "stat of ../x");
      assert.match(error.message, /Path escapes the alloc directory/);
      assert.equal(error.path, "../x");
    },
  },
  {
    id: "path/dotdot-inside",
    title: "dots that stay inside are followed",
    async run(t) {
      await t.hands.write("web/local/f", "inside");
      assert.equal(await textAt(t, "alloc/../web/local/../local/f"), "inside");
      assert.equal(await textAt(t, "./web/./local/f"), "inside");
    },
  },
  {
    id: "path/leading-slash",
    title: "a leading slash means the allocation's own root",
    async run(t) {
      await t.hands.write("web/local/f", "inside");
      assert.equal(await textAt(t, "/web/local/f"), "inside");
      assert.equal(await textAt(t, "//web///local//f"), "inside");
      assert.deepEqual(await t.alloc.list("/"), await t.alloc.list(""));
    },
  },
  {
    id: "path/dot-names",
    title: "names that begin with dots are ordinary names",
    async run(t) {
      for (const name of ["..foo", "...", ".hidden", "..."]) {
        await t.hands.write(`web/local/${name}`, name);
        assert.equal(await textAt(t, `web/local/${name}`), name);
      }
      await refused(() => t.alloc.stat("..foo"), "NOT_FOUND", "stat of ..foo");
    },
  },
  {
    id: "path/nul-refused",
    title: "a path with NUL or half a character is no path",
    async run(t) {
      for (const path of ["web/local/f\0", "\0", "web\0/local", "web/\ud800", "\udc00"])
        await refusedBy(t, path, "BAD_PATH");
    },
  },
  {
    id: "path/length-limited",
    title: "a path of more than 4096 characters is refused, a name of more than 255 is an error",
    async run(t) {
      await refusedBy(t, "a/".repeat(2_100), "BAD_PATH");
      const error = await failureOf(() => t.alloc.stat(`web/local/${"x".repeat(300)}`), "a long name");
      ok(!error.message.includes(t.alloc.allocDirPath));
    },
  },
];
