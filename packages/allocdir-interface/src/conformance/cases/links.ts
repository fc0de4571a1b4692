import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
import { refusedBy, textAt } from "../ways-in.ts";

const leads = (
  id: string,
  title: string,
  links: Record<string, string>,
  paths: readonly string[],
): ConformanceCase => ({
  id: `path/${id}`,
  title,
  needs: ["symlinks"],
  async run(t) {
    for (const [path, target] of Object.entries(links))
      await t.hands.symlink(target.replace("OUTSIDE", t.outside), path);
    for (const path of paths) await refusedBy(t, path, "PATH_ESCAPES");
  },
});

/** Which links are followed, and where to. */
export const LINK_CASES: readonly ConformanceCase[] = [
  leads(
    "absolute-link-refused",
    "a link to a place of the machine is an escape, as file, as folder and on the way",
    { "web/local/file": "OUTSIDE/canary", "web/local/dir": "OUTSIDE", "alloc/data/root": "/" },
    ["web/local/file", "web/local/dir", "web/local/dir/canary", "alloc/data/root/etc/passwd", "alloc/data/root/.."],
  ),
  leads(
    "relative-link-out-refused",
    "a link that climbs out of the allocation is an escape",
    { "web/local/up": "../../..", "web/local/far": "../../../../../../../../../etc/passwd", "alloc/up": "../../x" },
    ["web/local/up", "web/local/up/canary", "web/local/far", "alloc/up"],
  ),
  leads(
    "dangling-link-out-refused",
    "a link out is an escape although there is nothing there",
    { "web/local/a": "/nonexistent/file", "web/local/b": "../../../nonexistent" },
    ["web/local/a", "web/local/b", "web/local/a/x"],
  ),
  {
    id: "path/sibling-with-the-same-prefix",
    title: "another allocation whose id begins the same is outside",
    needs: ["symlinks"],
    async run(t) {
      const other = await t.another();
      await other.alloc.build();
      await other.hands.write("alloc/data/f", "other");
      await t.hands.symlink(`../../../${other.alloc.allocId}/alloc/data/f`, "web/local/a");
      await t.hands.symlink(`${t.alloc.allocDirPath}-other/f`, "web/local/b");
      await t.hands.symlink(`${other.alloc.allocDirPath}/alloc/data/f`, "web/local/c");
      for (const name of ["a", "b", "c"]) await refusedBy(t, `web/local/${name}`, "PATH_ESCAPES");
    },
  },
  {
    id: "path/absolute-link-inside-refused",
    title: "an absolute link is an escape even to the allocation itself: its own path is the host's",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.write("web/local/f", "x");
      await t.hands.symlink(`${t.alloc.allocDirPath}/web/local/f`, "web/local/link");
      await refusedBy(t, "web/local/link", "PATH_ESCAPES");
    },
  },
  {
    id: "path/link-inside-followed",
    title: "links inside are followed from where they stand, also several and on the way",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.mkdir("web/local/a/b");
      await t.hands.write("web/local/a/f", "found");
      await t.hands.write("alloc/data/shared", "shared");
      await t.hands.symlink("../f", "web/local/a/b/up");
      await t.hands.symlink("a/b", "web/local/dir");
      await t.hands.symlink("dir/up", "web/local/twice");
      await t.hands.symlink("../../alloc/data/shared", "web/local/shared");
      await t.hands.symlink("../web/local", "alloc/back");
      for (const path of ["web/local/a/b/up", "web/local/dir/up", "web/local/twice", "alloc/back/twice"])
        assert.equal(await textAt(t, path), "found", path);
      assert.equal(await textAt(t, "web/local/shared"), "shared");
      assert.deepEqual(
        (await t.alloc.list("web/local/dir")).map((entry) => entry.Name),
        ["up"],
      );
    },
  },
  {
    id: "path/dangling-link-inside-is-missing",
    title: "a link to nothing inside is a missing file",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("nothing", "web/local/a");
      await refused(() => t.alloc.stat("web/local/a"), "NOT_FOUND", "stat");
      await refused(() => t.alloc.readAt("web/local/a", 0), "NOT_FOUND", "readAt");
      assert.equal(await t.alloc.identify("web/local/a"), undefined);
    },
  },
  {
    id: "path/link-loop",
    title: "links in a circle are an error, not an endless search",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("b", "web/local/a");
      await t.hands.symlink("a", "web/local/b");
      await t.hands.symlink("self/x", "web/local/self");
      for (const path of ["web/local/a", "web/local/self"]) await refusedBy(t, path, "LOOP");
    },
  },
  {
    id: "path/file-on-the-way",
    title: "a file is no folder on the way, not even before dots",
    async run(t) {
      await t.hands.write("web/local/f", "x");
      for (const path of ["web/local/f/x", "web/local/f/..", "web/local/f/x/y"])
        await refused(() => t.alloc.stat(path), "NOT_DIRECTORY", path);
    },
  },
  {
    id: "path/exchanged-folder",
    title: "a folder exchanged for a link while requests walk it never shows what is outside",
    needs: ["symlinks", "raceFree"],
    async run(t) {
      await t.hands.mkdir("web/local/dir");
      await t.hands.write("web/local/dir/canary", "inside!");
      await t.hands.symlink(t.outside, "web/local/link");
      let over = false;
      const exchange = async (): Promise<void> => {
        while (!over) {
          await t.hands.rename("web/local/dir", "web/local/aside");
          await t.hands.rename("web/local/link", "web/local/dir");
          await Promise.resolve();
          await new Promise((resolve) => setImmediate(resolve));
          await t.hands.rename("web/local/dir", "web/local/link");
          await t.hands.rename("web/local/aside", "web/local/dir");
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const walk = async (): Promise<void> => {
        for (let i = 0; i < 60; i++) {
          const found = await Promise.all([
            textAt(t, "web/local/dir/canary").catch((reason: unknown) => reason),
            t.alloc.stat("web/local/dir/canary").catch((reason: unknown) => reason),
          ]);
          if (typeof found[0] === "string") assert.equal(found[0], "inside!");
          if (!(found[1] instanceof Error)) assert.equal((found[1] as { Size: number }).Size, 7);
        }
      };
      const running = exchange();
      try {
        await Promise.all([walk(), walk()]);
      } finally {
        over = true;
        await running;
      }
    },
  },
];
