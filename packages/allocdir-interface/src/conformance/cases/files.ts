import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { drain, failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

/** Name, content, type. */
const TYPES: readonly (readonly [string, string | Uint8Array, string])[] = [
  ["page", "  <!DOCTYPE html>", "text/html; charset=utf-8"],
  ["page2", "<HeAd> x", "text/html; charset=utf-8"],
  ["xml", "<?xml version='1.0'?>", "text/xml; charset=utf-8"],
  ["list.json", "[1]", "application/json"],
  ["page.html", "just text", "text/plain; charset=utf-8"],
  ["text", "words", "text/plain; charset=utf-8"],
  ["png", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]), "image/png"],
  ["gz", Uint8Array.from([0x1f, 0x8b, 8, 0]), "application/x-gzip"],
  ["pdf", "%PDF-1.7", "application/pdf"],
  ["utf16", Uint8Array.from([0xff, 0xfe, 0x61, 0]), "text/plain; charset=utf-16le"],
  ["binary", Uint8Array.from([0, 1, 2, 3]), "application/octet-stream"],
  ["empty", "", "application/octet-stream"],
  ["late", `${"x".repeat(512)}\0`, "text/plain; charset=utf-8"],
];

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** list, stat, readAt and identify on ordinary files. */
export const FILE_CASES: readonly ConformanceCase[] = [
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
  {
    id: "stat/content-types",
    title: "the type of a file is told by its first bytes, not by its ending, but for .json",
    async run({ alloc, hands }) {
      for (const [name, data, type] of TYPES) {
        await hands.write(`web/local/${name}`, data);
        assert.equal((await alloc.stat(`web/local/${name}`)).ContentType, type, name);
      }
    },
  },
  {
    id: "stat/folder",
    title: "a folder is a folder, whatever it is called",
    async run({ alloc, hands }) {
      await hands.mkdir("web/local/x.json");
      assert.deepEqual(
        [(await alloc.stat("web/local/x.json")).IsDir, (await alloc.stat("web/local/x.json")).ContentType],
        [true, "application/json"],
      );
      assert.equal((await alloc.stat("web/local")).ContentType, "application/octet-stream");
      assert.deepEqual([(await alloc.stat("/")).IsDir, (await alloc.stat("/")).Name], [true, "/"]);
    },
  },
  {
    id: "stat/file",
    title: "a file tells its size and the time of its last change",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "1234567");
      await hands.touch("web/local/f", 1_600_000_000_000);
      const info = await alloc.stat("web/local/f");
      assert.deepEqual([info.Name, info.Size, info.IsDir, info.ModTime], ["f", 7, false, "2020-09-13T12:26:40Z"]);
      await hands.append("web/local/f", "89");
      assert.equal((await alloc.stat("web/local/f")).Size, 9);
    },
  },
  {
    id: "stat/modes-in-words",
    title: "modes are written like Go does, special bits included",
    needs: ["posixModes"],
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "");
      await hands.mkdir("web/local/d");
      for (const [path, mode, words] of [
        ["f", 0o644, "-rw-r--r--"],
        ["f", 0o4755, "urwxr-xr-x"],
        ["f", 0o2710, "grwx--x---"],
        ["f", 0o400, "-r--------"],
        ["d", 0o1777, "dtrwxrwxrwx"],
        ["d", 0o750, "drwxr-x---"],
      ] as const) {
        await hands.chmod(`web/local/${path}`, mode);
        assert.equal((await alloc.stat(`web/local/${path}`)).FileMode, words);
      }
    },
  },
  {
    id: "stat/follows-links",
    title: "stat of a link inside tells of what it leads to",
    needs: ["symlinks"],
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abc");
      await hands.symlink("f", "web/local/link");
      await hands.symlink(".", "web/local/here");
      const info = await alloc.stat("web/local/link");
      assert.deepEqual([info.Size, info.FileMode[0]], [3, "-"]);
      ok((await alloc.stat("web/local/here")).IsDir);
    },
  },
  {
    id: "stat/missing",
    title: "a missing file is told by the words that callers look for",
    async run({ alloc }) {
      assert.match(
        (await refused(() => alloc.stat("web/local/f"), "NOT_FOUND", "stat")).message,
        /no such file or directory/,
      );
      assert.match(
        (await refused(() => alloc.readAt("web/local/f", 0), "NOT_FOUND", "readAt")).message,
        /no such file or directory/,
      );
    },
  },
  {
    id: "read/from-an-offset",
    title: "reading starts at the offset and tells where it is",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "0123456789");
      await using reader = await alloc.readAt("web/local/f", 3);
      assert.equal(reader.position, 3);
      assert.equal(Buffer.from(await reader.read(4)).toString(), "3456");
      assert.equal(reader.position, 7);
      assert.equal(Buffer.from(await reader.read(100)).toString(), "789");
      assert.equal((await reader.read(100)).length, 0);
      assert.equal(reader.position, 10);
    },
  },
  {
    id: "read/whole-content",
    title: "a file of a megabyte is read byte for byte, in pieces of any size",
    async run({ alloc, hands }) {
      const data = Buffer.alloc(1_100_003);
      for (let i = 0, x = 1; i < data.length; i++) data[i] = x = (x * 69_069 + 12_345) >>> 24 || (x + i) & 255;
      await hands.write("web/local/big", data);
      for (const chunk of [65_536, 1_000_003, 4_097]) {
        const found = await drain(await alloc.readAt("web/local/big", 0), chunk);
        ok(found.equals(data), `pieces of ${chunk}`);
      }
    },
  },
  {
    id: "read/beyond-the-end",
    title: "an offset beyond the end reads nothing",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abc");
      await using reader = await alloc.readAt("web/local/f", 100);
      assert.equal((await reader.read(10)).length, 0);
      assert.equal(reader.position, 100);
    },
  },
  {
    id: "read/bad-offset",
    title: "an offset that is negative or no whole number is refused",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abc");
      for (const offset of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, -1n, 2n ** 64n])
        await refused(() => alloc.readAt("web/local/f", offset), "SEEK", String(offset));
    },
  },
  {
    id: "read/bigint-offset",
    title: "an offset may be a bigint",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abcdef");
      assert.equal((await drain(await alloc.readAt("web/local/f", 4n))).toString(), "ef");
    },
  },
  {
    id: "read/limit",
    title: "a limit ends reading as if the file ended there; 0 is none",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "0123456789");
      assert.equal((await drain(await alloc.readAt("web/local/f", 2, { limit: 3 }), 2)).toString(), "234");
      assert.equal((await drain(await alloc.readAt("web/local/f", 2, { limit: 100 }))).toString(), "23456789");
      assert.equal((await drain(await alloc.readAt("web/local/f", 2, { limit: 0 }))).toString(), "23456789");
    },
  },
  {
    id: "read/folder-refused",
    title: "a folder cannot be read",
    async run({ alloc }) {
      await refused(() => alloc.readAt("web/local", 0), "IS_DIRECTORY", "readAt of a folder");
      await refused(() => alloc.readAt("/", 0), "IS_DIRECTORY", "readAt of the root");
    },
  },
  {
    id: "read/signal",
    title: "a signal ends reading with its reason, before and meanwhile",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abcdef");
      const reason = new Error("enough");
      await assert.rejects(alloc.readAt("web/local/f", 0, { signal: AbortSignal.abort(reason) }), reason);
      const stop = new AbortController();
      const reader = await alloc.readAt("web/local/f", 0, { signal: stop.signal });
      assert.equal((await reader.read(2)).length, 2);
      stop.abort(reason);
      await assert.rejects(reader.read(2), reason);
      await reader.close();
    },
  },
  {
    id: "read/growing-file",
    title: "what is written later is read later",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abc");
      await using reader = await alloc.readAt("web/local/f", 0);
      assert.equal((await reader.read(10)).length, 3);
      assert.equal((await reader.read(10)).length, 0);
      await hands.append("web/local/f", "def");
      assert.equal(Buffer.from(await reader.read(10)).toString(), "def");
      assert.equal(await reader.size(), 6);
    },
  },
  {
    id: "read/nameless-file",
    title: "an open file is read to its end although its name has gone or means another file",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "first");
      await using reader = await alloc.readAt("web/local/f", 0);
      assert.equal(reader.identity, (await alloc.identify("web/local/f"))?.identity);
      await hands.write("web/local/g", "second");
      await hands.rename("web/local/g", "web/local/f");
      assert.notEqual(reader.identity, (await alloc.identify("web/local/f"))?.identity);
      assert.equal(Buffer.from(await reader.read(10)).toString(), "first");
      await hands.remove("web/local/f");
      assert.equal(await alloc.identify("web/local/f"), undefined);
      assert.equal(await reader.size(), 5);
    },
  },
  {
    id: "read/after-close",
    title: "a closed reader says so, and may be closed again",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "abc");
      const reader = await alloc.readAt("web/local/f", 0);
      await reader.close();
      await reader.close();
      await failureOf(() => reader.read(1), "read after close");
      await reader[Symbol.asyncDispose]();
    },
  },
  {
    id: "read/many-at-once",
    title: "any number of readers have places of their own",
    async run({ alloc, hands }) {
      await hands.write("web/local/f", "0123456789");
      const readers = await Promise.all(Array.from({ length: 50 }, (_, i) => alloc.readAt("web/local/f", i % 10)));
      const found = await Promise.all(readers.map((reader) => reader.read(1)));
      assert.equal(Buffer.concat(found).toString(), "0123456789".repeat(5));
      await Promise.all(readers.map((reader) => reader.close()));
    },
  },
  {
    id: "identify/tells-files-apart",
    title: "identity stays with a file and differs between files; nothing has none",
    async run({ alloc, hands }) {
      await hands.write("web/local/a", "a");
      await hands.write("web/local/b", "bb");
      const [a, b] = [await alloc.identify("web/local/a"), await alloc.identify("web/local/b")];
      assert.deepEqual([a?.size, b?.size], [1, 2]);
      assert.notEqual(a?.identity, b?.identity);
      await hands.rename("web/local/a", "web/local/c");
      await hands.append("web/local/c", "more");
      assert.deepEqual(await alloc.identify("web/local/c"), { identity: a?.identity, size: 5 });
      assert.equal(await alloc.identify("web/local/a"), undefined);
      assert.equal(await alloc.identify("nothing/at/all"), undefined);
    },
  },
];
