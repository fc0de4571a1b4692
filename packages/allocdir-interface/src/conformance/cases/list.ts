import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** What a folder holds. */
export const LIST_CASES: readonly ConformanceCase[] = [
  {
    id: "list/sorted-by-bytes",
    title: "entries are sorted by the bytes of their names",
    async run({ alloc, hands }) {
      for (const name of ["b", "a", "B", "ä", "~", "10", "9", ".dot", "\u{1f600}", "\uffee"])
        await hands.write(`web/local/${name}`, "");
      const found = (await alloc.list("web/local")).map((entry) => entry.Name);
      assert.deepEqual(found, [".dot", "10", "9", "B", "a", "b", "~", "ä", "\uffee", "\u{1f600}"]);
    },
  },
  {
    id: "list/tells-size-and-kind",
    title: "an entry tells name, size, kind, mode and time, and no content type",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "12345");
      await hands.touch("web/local/f", 1_700_000_000_062.5);
      await hands.mkdir("web/local/d");
      const [d, f] = await alloc.list("web/local");
      assert.deepEqual([d?.Name, d?.IsDir, d?.ContentType], ["d", true, ""]);
      assert.deepEqual([f?.Name, f?.IsDir, f?.Size, f?.ContentType], ["f", false, 5, ""]);
      assert.equal(f?.ModTime, "2023-11-14T22:13:20.0625Z");
      assert.match(`${d?.ModTime}`, RFC3339);
      assert.match(`${d?.FileMode}`, /^d[rwx-]{9}$/);
      assert.match(`${f?.FileMode}`, /^-[rwx-]{9}$/);
    },
  },
  {
    id: "list/links-are-not-followed",
    title: "a link in a list is a link",
    needs: ["symlinks"],
    async run({ alloc, hands, outside }) {
      await hands.symlink("/etc", "web/local/a");
      await hands.symlink("nothing", "web/local/b");
      await hands.symlink(outside, "web/local/c");
      for (const entry of await alloc.list("web/local")) {
        assert.equal(entry.IsDir, false);
        assert.match(entry.FileMode, /^L/);
      }
    },
  },
  {
    id: "list/special-files",
    title: "fifos and sockets are listed as what they are",
    needs: ["fifos", "sockets"],
    async run({ alloc, hands }) {
      await hands.mkfifo("alloc/logs/.web.stdout.fifo");
      await hands.socket("alloc/logs/sock");
      assert.deepEqual(
        (await alloc.list("alloc/logs")).map((entry) => [entry.Name, entry.FileMode[0], entry.IsDir]),
        [
          [".web.stdout.fifo", "p", false],
          ["sock", "S", false],
        ],
      );
    },
  },
  {
    id: "list/empty",
    title: "an empty folder has no entries",
    async run({ alloc }) {
      assert.deepEqual(await alloc.list("web/local"), []);
    },
  },
  {
    id: "list/missing",
    title: "a missing folder is told by the words that callers look for",
    async run({ alloc }) {
      const error = await refused(() => alloc.list("web/nothing"), "NOT_FOUND", "list");
      assert.match(error.message, /no such file or directory/);
      assert.equal(error.path, "web/nothing");
      await refused(() => alloc.list("nothing/at/all"), "NOT_FOUND", "list below nothing");
    },
  },
  {
    id: "list/of-a-file",
    title: "a file has no entries",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "x");
      await refused(() => alloc.list("web/local/f"), "NOT_DIRECTORY", "list of a file");
    },
  },
  {
    id: "list/while-files-come-and-go",
    title: "a file that vanishes while a folder is listed is left out, and fails nothing",
    async run(t) {
      for (let i = 0; i < 20; i++) await t.hands.write(`alloc/logs/web.stdout.${i}`, "x");
      await t.hands.write("alloc/logs/web.stdout.zz", "stays");
      let over = false;
      const churn = (async () => {
        for (let i = 0; !over; i = (i + 1) % 20) {
          await t.hands.remove(`alloc/logs/web.stdout.${i}`);
          await new Promise((resolve) => setImmediate(resolve));
          await t.hands.write(`alloc/logs/web.stdout.${i}`, "x");
        }
      })();
      try {
        for (let i = 0; i < 20; i++) assert.equal((await t.alloc.list("alloc/logs")).at(-1)?.Name, "web.stdout.zz");
      } finally {
        over = true;
        await churn;
      }
    },
  },
  {
    id: "list/many",
    title: "a folder of hundreds of files is listed whole",
    async run({ alloc, hands }) {
      for (let i = 0; i < 400; i++) await hands.write(`web/local/f${i}`, "");
      assert.equal(new Set((await alloc.list("web/local")).map((entry) => entry.Name)).size, 400);
    },
  },
];
