import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";

/** Fifos and sockets: shown, never opened. */
export const SPECIAL_FILE_CASES: readonly ConformanceCase[] = [
  {
    id: "path/fifo-not-opened",
    title: "stat of a log fifo answers without taking a line out of it, and reading it is refused",
    needs: ["fifos"],
    async run(t) {
      await t.hands.mkfifo("alloc/logs/.web.stdout.fifo");
      const ends = await t.hands.openFifo("alloc/logs/.web.stdout.fifo");
      try {
        ends.write("a log line\n");
        const info = await t.within(t.alloc.stat("alloc/logs/.web.stdout.fifo"), "stat of a fifo", 2_000);
        assert.match(info.FileMode, /^p/);
        await refused(
          () => t.within(t.alloc.readAt("alloc/logs/.web.stdout.fifo", 0), "readAt of a fifo", 2_000),
          "NOT_REGULAR",
          "readAt",
        );
        await t.alloc.list("alloc/logs");
        assert.equal(ends.take(), "a log line\n");
      } finally {
        ends.close();
      }
    },
  },
  {
    id: "path/fifo-without-writer",
    title: "fifos that nobody writes to hold up nothing, however many are asked for",
    needs: ["fifos"],
    async run(t) {
      const paths = Array.from({ length: 8 }, (_, i) => `web/local/f${i}`);
      for (const path of paths) await t.hands.mkfifo(path);
      await t.within(Promise.all(paths.map((path) => t.alloc.stat(path))), "stat of fifos", 2_000);
      await t.within(
        Promise.all(paths.map((path) => refused(() => t.alloc.readAt(path, 0), "NOT_REGULAR", path))),
        "readAt of fifos",
        2_000,
      );
      await t.within(t.alloc.list("web/local"), "list beside fifos", 2_000);
    },
  },
  {
    id: "path/socket-not-opened",
    title: "a socket is shown, and not read",
    needs: ["sockets"],
    async run(t) {
      await t.hands.socket("web/local/s");
      assert.match((await t.alloc.stat("web/local/s")).FileMode, /^S/);
      await refused(() => t.alloc.readAt("web/local/s", 0), "NOT_REGULAR", "readAt");
    },
  },
  {
    id: "path/link-to-fifo",
    title: "a link to a fifo is as little opened as the fifo",
    needs: ["fifos", "symlinks"],
    async run(t) {
      await t.hands.mkfifo("web/local/f");
      await t.hands.symlink("f", "web/local/link");
      await refused(() => t.within(t.alloc.readAt("web/local/link", 0), "readAt", 2_000), "NOT_REGULAR", "readAt");
      assert.match((await t.within(t.alloc.stat("web/local/link"), "stat", 2_000)).FileMode, /^p/);
    },
  },
];
