import assert from "node:assert/strict";
import { taskLogs, type TaskLogRequest } from "../../task-logs.ts";
import type { CaseBench, ConformanceCase } from "../case.ts";
import { framesOf, refused, textOf } from "../expect.ts";
import { follow, type Follower } from "../follower.ts";

const logged = (t: CaseBench, o: Partial<TaskLogRequest> = {}): Follower =>
  follow((signal) =>
    taskLogs(
      t.alloc,
      { task: "web", type: "stdout", offset: 0, origin: "start", follow: true, ...o },
      { signal, clock: t.clock },
    ),
  );

const readLog = async (t: CaseBench, o: Partial<TaskLogRequest> = {}): Promise<string> =>
  textOf(
    await framesOf(
      taskLogs(
        t.alloc,
        { task: "web", type: "stdout", offset: 0, origin: "start", follow: false, ...o },
        { signal: AbortSignal.timeout(20_000), clock: t.clock },
      ),
    ),
  );

const log = (n: number): string => `alloc/logs/web.stdout.${n}`;

/** A task's logs as frames. */
export const LOG_CASES: readonly ConformanceCase[] = [
  {
    id: "logs/in-order-of-numbers",
    title: "log files are read in the order of their numbers",
    async run(t) {
      for (const n of [0, 2, 9, 10, 11, 100]) await t.hands.write(log(n), `${n} `);
      assert.equal(await readLog(t), "0 2 9 10 11 100 ");
    },
  },
  {
    id: "logs/only-own-files",
    title: "files of other tasks, of the other stream and of shippers are none of this log",
    async run(t) {
      await t.hands.write(log(0), "own");
      for (const name of [
        "web.stdout.0.gz",
        "web.stdout.x",
        "web.stdout.",
        "web.stdout.01",
        "web.stdout.-1",
        "webx.stdout.1",
        "web.stdout.x.stdout.1",
        "web.stderr.0",
      ])
        await t.hands.write(`alloc/logs/${name}`, `<${name}>`);
      await t.hands.mkdir("alloc/logs/web.stdout.7");
      assert.equal(await readLog(t), "own");
      assert.equal(await readLog(t, { offset: 2, origin: "end" }), "wn");
      assert.equal(await readLog(t, { type: "stderr" }), "<web.stderr.0>");
    },
  },
  {
    id: "logs/none",
    title: "a task without logs is told by the words that callers look for",
    async run(t) {
      const error = await refused(() => readLog(t), "NOT_FOUND", "logs");
      assert.match(error.message, /log entry for task "web" and log type "stdout" not found/);
    },
  },
  {
    id: "logs/offsets-over-files",
    title: "offsets count over all files, from either end",
    async run(t) {
      for (const [n, text] of ["abc", "defg", "hi"].entries()) await t.hands.write(log(n), text);
      for (const [offset, origin, text] of [
        [0, "start", "abcdefghi"],
        [2, "start", "cdefghi"],
        [3, "start", "defghi"],
        [8, "start", "i"],
        [99, "start", ""],
        [2, "end", "hi"],
        [3, "end", "ghi"],
        [7, "end", "cdefghi"],
        [99, "end", "abcdefghi"],
        [0, "end", ""],
      ] as const)
        assert.equal(await readLog(t, { offset, origin }), text, `${offset} from ${origin}`);
    },
  },
  {
    id: "logs/end-means-end",
    title: "the end with offset 0 replays nothing and shows what comes, over a rotation too",
    async run(t) {
      await t.hands.write(log(0), "old");
      const f = logged(t, { origin: "end" });
      await t.pause(1_000);
      assert.equal(f.text(), "");
      await t.until(async () => {
        await t.hands.append(log(0), "n");
        await t.pause(500);
        return f.text() !== "";
      }, "the new text");
      await t.hands.write(log(1), "x");
      await t.until(() => f.text().endsWith("x"), "the next file");
      await f.stop();
      assert.match(f.text(), /^n+x$/);
    },
  },
  {
    id: "logs/rotation",
    title: "a follower sees each byte once over rotation, also what came late",
    async run(t) {
      await t.hands.write(log(0), "a0 ");
      const f = logged(t);
      await t.until(() => f.text() === "a0 ", "the first file");
      await t.hands.append(log(0), "b0 ");
      await t.hands.write(log(1), "a1 ");
      await t.until(() => f.text() === "a0 b0 a1 ", "the second file");
      await t.hands.write(log(3), "a3 ");
      await t.until(() => f.text() === "a0 b0 a1 a3 ", "a file after a gap");
      await t.hands.append(log(3), "b3");
      await t.until(() => f.text() === "a0 b0 a1 a3 b3", "growth of the last");
      await f.stop();
    },
  },
  {
    id: "logs/purged",
    title: "a log file that was purged meanwhile is skipped, nothing is shown twice",
    async run(t) {
      await t.hands.write(log(0), "0 ");
      const f = logged(t);
      await t.until(() => f.text() === "0 ", "the first file");
      await t.pause(500);
      await t.hands.write(log(1), "1 ");
      await t.hands.remove(log(0));
      await t.hands.write(log(2), "2 ");
      await t.until(() => f.text().includes("2 "), "the last file");
      await t.pause(500);
      assert.equal(f.text().replace("[file deleted]", ""), "0 1 2 ");
      await f.stop();
    },
  },
  {
    id: "logs/truncated",
    title: "a log file cut by hand is read anew",
    async run(t) {
      await t.hands.write(log(0), "0123456789");
      const f = logged(t);
      await t.until(() => f.text() === "0123456789", "the text");
      await t.pause(500);
      await t.hands.write(log(0), "new");
      await t.until(() => f.text().endsWith("new"), "the new text");
      assert.equal(f.text(), "0123456789[file truncated]new");
      await f.stop();
    },
  },
  {
    id: "logs/link-to-secrets",
    title: "a log file exchanged for a link to secrets or the machine shows nothing of them",
    needs: ["symlinks"],
    async run(t) {
      await t.hands.write("web/secrets/token", "s3cr3t");
      await t.hands.symlink("../../web/secrets/token", log(0));
      await refused(() => readLog(t), "SECRET_FILE", "log into secrets");
      await t.hands.remove(log(0));
      await t.hands.symlink(`${t.outside}/canary`, log(0));
      await refused(() => readLog(t), "PATH_ESCAPES", "log outside");
    },
  },
];
