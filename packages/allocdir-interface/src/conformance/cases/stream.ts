import assert from "node:assert/strict";
import { streamFile } from "../../stream-file.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { framesOf, refused } from "../expect.ts";
import { follow, type Follower } from "../follower.ts";
import { ok } from "../ok.ts";

const streamed = (t: CaseBench, o: Partial<Parameters<typeof streamFile>[1]>): Follower =>
  follow((signal) =>
    streamFile(t.alloc, { path: "web/local/f", offset: 0, origin: "start", follow: true, ...o }, { signal }),
  );

/** A file as frames. */
export const STREAM_CASES: readonly ConformanceCase[] = [
  {
    id: "stream/exact-offsets",
    title: "each frame's offset is the position right after its data: 200,000 for the last of a file of 200,000 bytes",
    async run(t) {
      const data = Buffer.from(Array.from({ length: 25_000 }, (_, i) => `${i}`.padStart(7, "0")).join("\n") + "\n");
      await t.hands.write("web/local/f", data);
      assert.equal(data.length, 200_000);
      const frames = await framesOf(
        streamFile(
          t.alloc,
          { path: "web/local/f", offset: 0, origin: "start", follow: false },
          { signal: AbortSignal.timeout(20_000) },
        ),
      );
      let position = 0;
      for (const frame of frames) {
        position += Number(frame.data?.length);
        assert.equal(frame.offset, position);
        ok(Number(frame.data?.length) <= 65_536);
      }
      assert.equal(frames.at(-1)?.offset, 200_000);
      ok(Buffer.concat(frames.map((frame) => frame.data as Uint8Array)).equals(data));
    },
  },
  {
    id: "stream/origin-and-limit",
    title: "reading begins at the offset from either end, and ends after the limit",
    async run(t) {
      await t.hands.write("web/local/f", "0123456789");
      const text = async (o: object): Promise<string> => {
        const f = streamed(t, { follow: false, ...o });
        await t.until(() => f.isOver(), "the end");
        return f.text();
      };
      assert.equal(await text({ offset: 7 }), "789");
      assert.equal(await text({ offset: 3, origin: "end" }), "789");
      assert.equal(await text({ offset: 99, origin: "end" }), "0123456789");
      assert.equal(await text({ offset: 2, limit: 3 }), "234");
      assert.equal(await text({ offset: 0, origin: "end" }), "");
      assert.equal(await text({ offset: 99 }), "");
    },
  },
  {
    id: "stream/end-means-end",
    title: "origin end with offset 0 replays nothing and shows what comes",
    async run(t) {
      await t.hands.write("web/local/f", "old");
      const f = streamed(t, { origin: "end" });
      await t.pause(1_000);
      assert.equal(f.text(), "");
      await t.until(async () => {
        // Again and again: where a stream begins is not seen from outside.
        await t.hands.append("web/local/f", "n");
        await t.pause(500);
        return f.text() !== "";
      }, "the new text");
      await f.stop();
      assert.match(f.text(), /^n+$/);
    },
  },
  {
    id: "stream/follow",
    title: "a followed file shows each byte once, as it comes",
    async run(t) {
      await t.hands.write("web/local/f", "a");
      const f = streamed(t, {});
      for (const [i, text] of ["ab", "abc", "abcd"].entries()) {
        await t.hands.append("web/local/f", text.slice(-1));
        await t.until(() => f.text() === text, `text ${i}`);
      }
      await f.stop();
      assert.equal(f.text(), "abcd");
    },
  },
  {
    id: "stream/truncated",
    title: "a truncated file is told of and read anew",
    async run(t) {
      await t.hands.write("web/local/f", "0123456789");
      const f = streamed(t, {});
      await t.until(() => f.text() === "0123456789", "the text");
      await t.pause(500);
      await t.hands.write("web/local/f", "new");
      await t.until(() => f.text().endsWith("new"), "the new text");
      assert.equal(f.text(), "0123456789[file truncated]new");
      await f.stop();
    },
  },
  {
    id: "stream/deleted",
    title: "a deleted file is told of, and is the end",
    async run(t) {
      await t.hands.write("web/local/f", "text");
      const f = streamed(t, {});
      await t.until(() => f.text() === "text", "the text");
      await t.hands.append("web/local/f", "tail");
      await t.hands.remove("web/local/f");
      await t.until(() => f.isOver(), "the end");
      assert.equal(f.text(), "texttail[file deleted]");
    },
  },
  {
    id: "stream/parent-becomes-a-file",
    title: "a folder that becomes a file under a follower ends that stream alone",
    async run(t) {
      await t.hands.write("web/local/f", "text");
      await t.hands.write("alloc/data/other", "other");
      const f = streamed(t, {});
      const other = streamed(t, { path: "alloc/data/other" });
      await t.until(() => f.text() === "text" && other.text() === "other", "the text");
      await t.hands.rename("web/local", "web/aside");
      await t.hands.write("web/local", "a file");
      await t.until(() => f.isOver(), "the end");
      await t.hands.append("alloc/data/other", "!");
      await t.until(() => other.text() === "other!", "the other stream");
      await other.stop();
    },
  },
  {
    id: "stream/missing-and-forbidden",
    title: "what cannot be read cannot be streamed",
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      for (const [path, reason] of [
        ["web/local/f", "NOT_FOUND"],
        ["../x", "PATH_ESCAPES"],
        ["web/secrets/token", "SECRET_FILE"],
        ["web/local", "IS_DIRECTORY"],
      ] as const) {
        const frames = streamFile(
          t.alloc,
          { path, offset: 0, origin: "start", follow: false },
          { signal: AbortSignal.timeout(5_000) },
        );
        await refused(() => frames.next(), reason, path);
      }
    },
  },
  {
    id: "stream/abort",
    title: "a stream ends with the signal's reason",
    async run(t) {
      await t.hands.write("web/local/f", "text");
      const f = streamed(t, {});
      await t.until(() => f.text() === "text", "the text");
      assert.match(String(await t.within(f.stop(), "stop", 1_000)), /the case is over/);
    },
  },
  {
    id: "stream/destroy",
    title: "a destroy ends streams",
    async run(t) {
      await t.hands.write("web/local/f", "text");
      const f = streamed(t, {});
      await t.until(() => f.text() === "text", "the text");
      await t.alloc.destroy();
      await t.until(() => f.isOver(), "the end");
    },
  },
];
