import assert from "node:assert/strict";
import { Writable } from "node:stream";
import type { SnapshotReport } from "../../alloc-dir-fs.ts";
import type { AllocDir } from "../../types.ts";
import type { ConformanceCase } from "../case.ts";
import { failureOf, refused } from "../expect.ts";
import { readTar, type TarEntry } from "../read-tar.ts";
import { ok } from "../ok.ts";

/** A stream that keeps everything. */
function keeper(): { out: Writable; bytes: () => Buffer } {
  const parts: Buffer[] = [];
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      parts.push(Buffer.from(chunk));
      done();
    },
  });
  return { out, bytes: () => Buffer.concat(parts) };
}

/** A snapshot as entries by name, in their order. */
export async function snapshotOf(alloc: AllocDir): Promise<{ entries: TarEntry[]; report: SnapshotReport }> {
  const { out, bytes } = keeper();
  const report = await alloc.snapshot(out);
  ok(out.writableFinished, "the stream was not ended");
  return { entries: readTar(bytes()), report };
}

const by = (entries: readonly TarEntry[], name: string): TarEntry => {
  const found = entries.filter((entry) => entry.name === name);
  assert.equal(found.length, 1, `${name} is in the archive ${found.length} times`);
  return found[0] as TarEntry;
};

export const SNAPSHOT_CASES: readonly ConformanceCase[] = [
  {
    id: "snapshot/roots-in-order",
    title: "a snapshot holds data, then local of each registered task by name, and nothing else",
    async run(t) {
      await t.task("zoo");
      await t.task("ant");
      for (const path of ["alloc/data/d", "web/local/l", "zoo/local/l", "ant/local/l"]) await t.hands.write(path, path);
      for (const path of [
        "alloc/logs/web.stdout.0",
        "alloc/tmp/x",
        "web/tmp/x",
        "web/secrets/token",
        "web/private/token",
        "web/executable",
      ])
        await t.hands.write(path, "not in it");
      await t.hands.mkdir("ghost/local");
      await t.hands.write("ghost/local/x", "not in it");
      const { entries, report } = await snapshotOf(t.alloc);
      assert.deepEqual(
        entries.map((entry) => entry.name),
        [
          "alloc/data",
          "alloc/data/d",
          "ant/local",
          "ant/local/l",
          "web/local",
          "web/local/l",
          "zoo/local",
          "zoo/local/l",
        ],
      );
      assert.equal(report.entries, 8);
      assert.equal(report.skipped, 0);
      assert.equal(report.bytes, "alloc/data/d".length + 3 * "web/local/l".length);
    },
  },
  {
    id: "snapshot/content",
    title: "content, kinds, modes and times are those of the files",
    async run(t) {
      const data = Buffer.alloc(3 * 1024 * 1024 + 17, "0123456789abcdef");
      await t.hands.write("alloc/data/big", data);
      await t.hands.write("web/local/empty", "");
      await t.hands.mkdir("web/local/a/b");
      await t.hands.write("web/local/a/b/f", "deep");
      await t.hands.chmod("web/local/a/b/f", 0o750);
      await t.hands.touch("web/local/a/b/f", 1_600_000_000_000);
      const { entries } = await snapshotOf(t.alloc);
      ok(by(entries, "alloc/data/big").data.equals(data));
      assert.deepEqual([by(entries, "web/local/empty").type, by(entries, "web/local/empty").size], ["0", 0]);
      assert.equal(by(entries, "web/local/a").type, "5");
      const deep = by(entries, "web/local/a/b/f");
      assert.deepEqual([deep.data.toString(), deep.mode & 0o777, deep.mtime], ["deep", 0o750, 1_600_000_000]);
      assert.equal(by(entries, "web/local").mode & 0o777, 0o777);
    },
  },
  {
    id: "snapshot/links-as-links",
    title: "links are links, whatever they lead to",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.symlink("/etc/passwd", "web/local/a");
      await t.hands.symlink("../secrets/token", "web/local/b");
      await t.hands.symlink(t.outside, "alloc/data/dir");
      const { entries } = await snapshotOf(t.alloc);
      assert.deepEqual([by(entries, "web/local/a").type, by(entries, "web/local/a").linkname], ["2", "/etc/passwd"]);
      assert.equal(by(entries, "web/local/b").linkname, "../secrets/token");
      assert.equal(by(entries, "alloc/data/dir").linkname, t.outside);
      ok(!entries.some((entry) => entry.data.includes("outside") || entry.name.includes("canary")));
    },
  },
  {
    id: "snapshot/special-files-skipped",
    title: "fifos and sockets neither hang a snapshot nor end it: they are left out and told of",
    needs: ["fifos", "sockets"],
    async run(t) {
      await t.hands.mkfifo("alloc/data/a.fifo");
      await t.hands.socket("web/local/a.sock");
      await t.hands.write("web/local/z", "after them");
      const { entries, report } = await t.within(snapshotOf(t.alloc), "snapshot", 5_000);
      assert.deepEqual(
        entries.map((entry) => entry.name),
        ["alloc/data", "web/local", "web/local/z"],
      );
      assert.equal(report.skipped, 2);
      assert.deepEqual(
        [...report.skippedPaths].sort((a, b) => a.path.localeCompare(b.path)),
        [
          { path: "alloc/data/a.fifo", reason: "fifo" },
          { path: "web/local/a.sock", reason: "socket" },
        ],
      );
    },
  },
  {
    id: "snapshot/root-is-a-link",
    title: "a root exchanged for a link is not followed",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.hands.remove("alloc/data");
      await t.hands.symlink(t.outside, "alloc/data");
      await t.hands.remove("web/local");
      await t.hands.symlink("secrets", "web/local");
      const { entries } = await snapshotOf(t.alloc);
      const all = entries.map(({ name, data }) => `${name} ${data.toString()}`).join("\n");
      assert.doesNotMatch(all, /outside|s3cr3t|canary|token/);
    },
  },
  {
    id: "snapshot/hard-linked-secret",
    title: "a second name of a secret does not get into a snapshot",
    needs: ["hardLinks", "plainSecrets"],
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.hands.link("web/secrets/token", "web/local/leak");
      const { entries } = await snapshotOf(t.alloc);
      ok(!entries.some((entry) => entry.data.includes("s3cr3t")));
    },
  },
  {
    id: "snapshot/missing-roots",
    title: "data or local that somebody took away is left out",
    async run(t) {
      await t.hands.remove("alloc/data");
      assert.deepEqual(
        (await snapshotOf(t.alloc)).entries.map((entry) => entry.name),
        ["web/local"],
      );
      await t.hands.remove("web/local");
      assert.deepEqual((await snapshotOf(t.alloc)).entries, []);
    },
  },
  {
    id: "snapshot/odd-names",
    title: "long names, deep folders and names of other alphabets survive",
    async run(t) {
      const names = [
        "x".repeat(150),
        "ü".repeat(100),
        "日本語 ファイル",
        "a b'c\"d",
        `${"d/".repeat(60)}f`,
        `${"longer-folder-name/".repeat(20)}f`,
      ];
      for (const name of names) {
        await t.hands.mkdir(`web/local/${name}`.slice(0, `web/local/${name}`.lastIndexOf("/")));
        await t.hands.write(`web/local/${name}`, name);
      }
      const { entries } = await snapshotOf(t.alloc);
      for (const name of names) assert.equal(by(entries, `web/local/${name}`).data.toString(), name);
    },
  },
  {
    id: "snapshot/file-changes-meanwhile",
    title: "a file that grows or shrinks meanwhile leaves the archive in order",
    async run(t) {
      for (let i = 0; i < 20; i++) await t.hands.write(`web/local/f${i}`, "x".repeat(100_000));
      let over = false;
      const churn = (async () => {
        for (let i = 0; !over; i = (i + 1) % 20) {
          await t.hands.append(`web/local/f${i}`, "y".repeat(5_000));
          await new Promise((resolve) => setImmediate(resolve));
          await t.hands.truncate(`web/local/f${i}`, 50_000);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      try {
        const { out, bytes } = keeper();
        // A file that shrank under the copy may be told as a failure; the archive's form holds all the same.
        const [done] = await Promise.allSettled([t.alloc.snapshot(out)]);
        const { reason } = done as { reason?: { code?: string } };
        assert.match(`${done.status} ${reason?.code}`, /^fulfilled|ERR_OUTRIDER_/);
        const entries = readTar(bytes());
        ok(entries.length > 1 && entries[0]?.name === "alloc/data");
      } finally {
        over = true;
        await churn;
      }
    },
  },
  {
    id: "snapshot/abort",
    title: "an aborted snapshot has no end that could be taken for one",
    async run(t) {
      await t.hands.write("alloc/data/big", Buffer.alloc(4 * 1024 * 1024, 1));
      const stop = new AbortController();
      const reason = new Error("enough");
      let got = 0;
      const out = new Writable({
        highWaterMark: 1,
        write(chunk: Buffer, _encoding, done) {
          got += chunk.length;
          stop.abort(reason);
          setImmediate(done);
        },
      });
      out.on("error", () => undefined);
      await assert.rejects(t.within(t.alloc.snapshot(out, { signal: stop.signal }), "snapshot"), reason);
      ok(!out.writableFinished && got < 4 * 1024 * 1024, "the archive was ended");
      ok(out.destroyed);
    },
  },
  {
    id: "snapshot/stalled-consumer",
    title: "a consumer that stops reading holds up nobody else, and a destroy ends it",
    async run(t) {
      await t.hands.write("alloc/data/big", Buffer.alloc(8 * 1024 * 1024, 1));
      let got = 0;
      const out = new Writable({
        highWaterMark: 1,
        // Takes the first piece and never asks for another.
        write(chunk: Buffer) {
          got += chunk.length;
        },
      });
      out.on("error", () => undefined);
      const failed = failureOf(() => t.alloc.snapshot(out), "snapshot");
      await t.until(() => got > 0, "the first piece");
      t.alloc.newTaskDir({ name: "job" });
      ok(t.alloc.getTaskDir("web"));
      await t.within(t.alloc.list("web"), "list", 2_000);
      await t.pause(500);
      ok(got + out.writableLength < 6 * 1024 * 1024, "there is no back-pressure");
      await t.within(t.alloc.destroy(), "destroy", 5_000);
      assert.equal((await t.within(failed, "the snapshot's end", 5_000)).code, "ERR_OUTRIDER_ALLOCDIR_DESTROYED");
      assert.deepEqual(await t.leftovers(), []);
    },
  },
  {
    id: "snapshot/not-built",
    title: "what is not built has no snapshot",
    fresh: true,
    async run(t) {
      const { out } = keeper();
      out.on("error", () => undefined);
      await refused(() => t.alloc.snapshot(out), "NOT_BUILT", "snapshot");
    },
  },
];
