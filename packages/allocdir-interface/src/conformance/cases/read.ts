import assert from "node:assert/strict";
import type { ConformanceCase } from "../case.ts";
import { drain, failureOf, refused } from "../expect.ts";
import { ok } from "../ok.ts";

/** Readers of ordinary files, and what tells one file from another. */
export const READ_CASES: readonly ConformanceCase[] = [
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
