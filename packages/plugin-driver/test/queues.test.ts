import { describe, expect, it } from "vitest";
import { mapAsync } from "../src/wire/map-async.ts";
import { MessageQueue } from "../src/wire/message-queue.ts";
import { PushQueue } from "../src/wire/push-queue.ts";

const settled = async (work: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void work.then(() => (done = true));
  await new Promise((resolve) => setImmediate(resolve));
  return done;
};

describe("a mapped stream", () => {
  it("skips what has no value and ends with its source", async () => {
    const source = (async function* () {
      yield 1;
      yield 2;
      yield 3;
    })();
    const seen: string[] = [];
    for await (const item of mapAsync(source, (n) => (n === 2 ? undefined : `#${n}`))) seen.push(item);
    expect(seen).toEqual(["#1", "#3"]);
  });

  it("lets go of its source at once, also while it waits for it", async () => {
    let returned = 0;
    const source: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          returned++;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const mapped = mapAsync(source, (n) => n);
    void mapped.next();
    expect(await mapped.return?.()).toEqual({ done: true, value: undefined });
    expect(returned).toBe(1);
    const bare = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: 1 } as const) }) };
    expect(await mapAsync(bare, (n) => n).return?.()).toEqual({ done: true, value: undefined });
  });

  it("fails with its source", async () => {
    // oxlint-disable-next-line require-yield
    const source = (async function* (): AsyncGenerator<number> {
      throw new Error("broken");
    })();
    await expect(mapAsync(source, (n) => n).next()).rejects.toThrow("broken");
  });
});

describe("a queue whose writers wait", () => {
  it("has room for fifteen messages, and again when the reader has taken them", async () => {
    const queue = new PushQueue<number>();
    for (let i = 0; i < 15; i++) expect(await settled(queue.write(i))).toBe(true);
    const sixteenth = queue.write(15);
    expect(await settled(sixteenth)).toBe(false);
    for (let i = 0; i < 16; i++) expect(await queue.reader.next()).toEqual({ done: false, value: i });
    expect(await settled(sixteenth)).toBe(true);
    expect(await settled(queue.write(16))).toBe(true);
    queue.end();
    expect(await queue.reader.next()).toEqual({ done: false, value: 16 });
    expect((await queue.reader.next()).done).toBe(true);
  });

  it.each<[string, (queue: PushQueue<number>) => unknown]>([
    ["its reader leaves", (queue) => queue.reader.return?.()],
    ["it ends", (queue) => queue.end()],
    ["it fails", (queue) => queue.fail(new Error("x"))],
  ])("holds no writer up when %s, and tells its owner once", async (_what, finish) => {
    let released = 0;
    const queue = new PushQueue<number>(() => released++);
    const writes = Array.from({ length: 20 }, (_, i) => queue.write(i));
    expect(await settled(Promise.all(writes))).toBe(false);
    expect(released).toBe(0);
    finish(queue);
    expect(await settled(Promise.all(writes))).toBe(true);
    await queue.reader.return?.();
    queue.end();
    expect(released).toBe(1);
  });

  it("tells its failure after what was written", async () => {
    const queue = new PushQueue<number>();
    await queue.write(1);
    queue.fail(new Error("broken"));
    expect((await queue.reader.next()).value).toBe(1);
    await expect(queue.reader.next()).rejects.toThrow("broken");
  });
});

describe("a message queue", () => {
  const source = (): { calls: string[]; queue: MessageQueue<number> } => {
    const calls: string[] = [];
    const log = (what: string) => () => void calls.push(what);
    return {
      calls,
      queue: new MessageQueue<number>({ pause: log("pause"), resume: log("resume"), release: log("release") }),
    };
  };

  it("pauses its source at sixteen waiting messages and resumes it when they are taken", async () => {
    const { calls, queue } = source();
    for (let i = 0; i < 20; i++) queue.push(i);
    expect(calls).toEqual(["pause"]);
    for (let i = 0; i < 20; i++) expect((await queue.next()).value).toBe(i);
    // The last one taken leaves room: only the next call resumes.
    const more = queue.next();
    queue.push(20);
    expect((await more).value).toBe(20);
    expect(calls).toEqual(["pause", "resume"]);
    queue.end();
    queue.push(21);
    expect(await queue.next()).toEqual({ done: true, value: undefined });
    expect(calls).toEqual(["pause", "resume", "release"]);
  });

  it("tells a failure once, after the messages before it, or at once", async () => {
    const { queue } = source();
    queue.push(1);
    queue.fail(new Error("x"));
    queue.fail(new Error("y"));
    expect((await queue.next()).value).toBe(1);
    await expect(queue.next()).rejects.toThrow("x");
    expect((await queue.next()).done).toBe(true);
    const other = source().queue;
    other.push(1);
    other.fail(new Error("now"), true);
    await expect(other.next()).rejects.toThrow("now");
  });

  it("pauses at the sixteenth message, resumes only when empty, and can pause again", async () => {
    const { calls, queue } = source();
    for (let i = 0; i < 15; i++) queue.push(i);
    expect(calls).toEqual([]);
    queue.push(15);
    expect(calls).toEqual(["pause"]);
    for (let i = 0; i < 15; i++) await queue.next();
    expect(calls).toEqual(["pause"]);
    await queue.next();
    expect(calls).toEqual(["pause", "resume"]);
    for (let i = 0; i < 16; i++) queue.push(i);
    expect(calls).toEqual(["pause", "resume", "pause"]);
    await queue.return();
    await queue.return();
    queue.fail(new Error("late"));
    expect(calls).toEqual(["pause", "resume", "pause", "release"]);
    expect(await queue.next()).toEqual({ done: true, value: undefined });
  });

  it("takes nothing after its end, and tells no failure to somebody who has left", async () => {
    const { queue } = source();
    queue.push(1);
    queue.end();
    queue.push(2);
    queue.fail(new Error("late"));
    expect(await queue.next()).toEqual({ done: false, value: 1 });
    expect(await queue.next()).toEqual({ done: true, value: undefined });
    const left = source().queue;
    left.push(1);
    left.fail(new Error("x"));
    await left.return();
    expect(await left.next()).toEqual({ done: true, value: undefined });
  });

  it("settles every pending next", async () => {
    const { queue } = source();
    const all = [queue.next(), queue.next()];
    queue.fail(new Error("x"));
    await expect(all[0]).rejects.toThrow("x");
    expect(await all[1]).toEqual({ done: true, value: undefined });
    const ended = source().queue;
    const pending = [ended.next(), ended.next()];
    await ended.return();
    expect(await Promise.all(pending)).toEqual(Array(2).fill({ done: true, value: undefined }));
    expect(ended[Symbol.asyncIterator]()).toBe(ended);
  });
});
