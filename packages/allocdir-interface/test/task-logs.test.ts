import { ManualClock } from "@outrider/backoff/testing";
import { appendFileSync, mkdirSync, rmSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { streamFile, taskLogs, type StreamFrame, type TaskLogRequest } from "../src/index.ts";
import { tempAlloc } from "./temp-alloc.ts";

const request = (o: Partial<TaskLogRequest> = {}): TaskLogRequest => ({
  task: "web",
  type: "stdout",
  offset: 0,
  origin: "start",
  follow: false,
  ...o,
});
const textOf = (frames: readonly StreamFrame[]): string =>
  frames.map((f) => (f.data ? Buffer.from(f.data).toString() : "")).join("");

async function all(frames: AsyncIterable<StreamFrame>): Promise<StreamFrame[]> {
  const list: StreamFrame[] = [];
  for await (const f of frames) list.push(f);
  return list;
}

/** Runs a follower beside the test: turns of the loop pass until the text is there. */
function follower(
  frames: AsyncGenerator<StreamFrame>,
  clock: ManualClock,
): {
  seen: StreamFrame[];
  until(text: string): Promise<void>;
  event(word: string): Promise<void>;
  end(): Promise<unknown>;
  ended: Promise<unknown>;
} {
  const seen: StreamFrame[] = [];
  const ended = (async () => {
    for await (const f of frames) seen.push(f);
  })().catch((reason: unknown) => reason);
  const turn = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await clock.advance(100);
  };
  return {
    seen,
    ended,
    event: async (word) => {
      for (let i = 0; i < 2000 && !seen.some((x) => x.fileEvent === word); i++) await turn();
      expect(seen.map((x) => x.fileEvent)).toContain(word);
    },
    end: async () => {
      let over = false;
      void ended.then(() => (over = true));
      for (let i = 0; i < 2000 && !over; i++) await turn();
      return ended;
    },
    until: async (text) => {
      for (let i = 0; i < 2000 && !textOf(seen).includes(text); i++) await turn();
      expect(textOf(seen)).toContain(text);
    },
  };
}

describe("task logs over rotated files", () => {
  it("reads all retained files in the order of their numbers and ignores what is none", async () => {
    await using t = await tempAlloc();
    const logs = join(t.alloc.allocDirPath, "alloc/logs");
    for (const [n, text] of [
      [9, "nine "],
      [10, "ten "],
      [11, "eleven"],
    ] as const)
      writeFileSync(join(logs, `web.stdout.${n}`), text);
    for (const name of [
      "web.stdout.0.gz",
      "web.stdout.x.0",
      "web.stdout.007",
      "web.stderr.1",
      "web2.stdout.0",
      ".web.stdout.fifo",
    ])
      writeFileSync(join(logs, name), "NO");
    mkdirSync(join(logs, "web.stdout.12"));
    const signal = new AbortController().signal;
    const frames = await all(taskLogs(t.alloc, request(), { signal }));
    expect(textOf(frames)).toBe("nine ten eleven");
    expect(frames.at(-1)).toMatchObject({ file: "alloc/logs/web.stdout.11", offset: 6 });
    expect(textOf(await all(taskLogs(t.alloc, request({ offset: 7 }), { signal })))).toBe("n eleven");
    expect(textOf(await all(taskLogs(t.alloc, request({ offset: 8, origin: "end" }), { signal })))).toBe("n eleven");
    expect(textOf(await all(taskLogs(t.alloc, request({ offset: 0, origin: "end" }), { signal })))).toBe("");
    expect(textOf(await all(taskLogs(t.alloc, request({ offset: 999, origin: "end" }), { signal })))).toBe(
      "nine ten eleven",
    );
    expect(textOf(await all(taskLogs(t.alloc, request({ offset: 999 }), { signal })))).toBe("");
  });

  it("rejects for a task without log files", async () => {
    await using t = await tempAlloc();
    await expect(all(taskLogs(t.alloc, request(), { signal: new AbortController().signal }))).rejects.toMatchObject({
      code: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND",
    });
  });

  it("follows appends, rotation with late bytes, truncation and deletion, each byte once", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const logs = join(t.alloc.allocDirPath, "alloc/logs");
    const file = (n: number): string => join(logs, `web.stdout.${n}`);
    const stop = new AbortController();
    writeFileSync(file(0), "a1 ");
    const f = follower(taskLogs(t.alloc, request({ follow: true }), { signal: stop.signal, clock }), clock);
    await f.until("a1");
    appendFileSync(file(0), "a2 ");
    await f.until("a2");
    writeFileSync(file(1), "b1 ");
    appendFileSync(file(0), "late ");
    await f.until("b1");
    expect(textOf(f.seen)).toBe("a1 a2 late b1 ");
    truncateSync(file(1), 0);
    await f.event("file truncated");
    appendFileSync(file(1), "b2 ");
    await f.until("b2");
    unlinkSync(file(1));
    await f.event("file deleted");
    writeFileSync(file(2), "c1 ");
    await f.until("c1");
    expect(textOf(f.seen)).toBe("a1 a2 late b1 b2 c1 ");
    stop.abort(new Error("enough"));
    expect(await f.ended).toMatchObject({ message: "enough" });
    expect(clock.pending.length).toBe(0);
  });

  it("ends with an error, and only itself, when the log folder turns into a file", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const logs = join(t.alloc.allocDirPath, "alloc/logs");
    writeFileSync(join(logs, "web.stdout.0"), "x");
    const f = follower(
      taskLogs(t.alloc, request({ follow: true }), { signal: new AbortController().signal, clock }),
      clock,
    );
    await f.until("x");
    rmSync(logs, { recursive: true });
    writeFileSync(logs, "");
    expect(await f.end()).toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_DIRECTORY" });
  });
});

describe("a followed file", () => {
  it("gives exact offsets, a limit, and the end of the file from its end", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "web/local/f"), Buffer.alloc(200_000, "x"));
    const signal = new AbortController().signal;
    const get = (o: object): Promise<StreamFrame[]> =>
      all(streamFile(t.alloc, { path: "web/local/f", offset: 0, origin: "start", follow: false, ...o }, { signal }));
    expect((await get({})).map((f) => f.offset)).toEqual([65_536, 131_072, 196_608, 200_000]);
    expect((await get({ offset: 10, origin: "end" })).map((f) => f.data?.length)).toEqual([10]);
    expect((await get({ limit: 70_000 })).map((f) => f.data?.length)).toEqual([65_536, 4464]);
    expect(await get({ offset: 0, origin: "end" })).toEqual([]);
    await expect(get({ path: "web/local/none" })).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_FOUND" });
  });

  it("follows until the file is deleted, with its last bytes, and starts anew after truncation", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const path = join(t.alloc.allocDirPath, "web/local/f");
    writeFileSync(path, "one ");
    const f = follower(
      streamFile(
        t.alloc,
        { path: "web/local/f", offset: 0, origin: "start", follow: true },
        { signal: new AbortController().signal },
      ),
      clock,
    );
    await f.until("one");
    truncateSync(path, 0);
    await f.event("file truncated");
    appendFileSync(path, "two ");
    await f.until("two");
    unlinkSync(path);
    await f.end();
    expect(f.seen.map((x) => x.fileEvent).filter(Boolean)).toEqual(["file truncated", "file deleted"]);
    expect(textOf(f.seen)).toBe("one two ");
  });

  it("ends a limited follow at its limit", async () => {
    const clock = new ManualClock();
    await using t = await tempAlloc({ clock });
    const path = join(t.alloc.allocDirPath, "web/local/f");
    writeFileSync(path, "abc");
    const f = follower(
      streamFile(
        t.alloc,
        { path: "web/local/f", offset: 0, origin: "start", follow: true, limit: 5 },
        { signal: new AbortController().signal },
      ),
      clock,
    );
    await f.until("abc");
    appendFileSync(path, "defg");
    await f.end();
    expect(textOf(f.seen)).toBe("abcde");
  });
});
