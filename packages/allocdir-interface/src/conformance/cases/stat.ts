import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { refused } from "../expect.ts";
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

/** What is told of one file. */
export const STAT_CASES: readonly ConformanceCase[] = [
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
];
