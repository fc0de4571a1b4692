import { expect, it } from "vitest";
import { createBroadcaster, createLatch, isPauseRequest } from "../src/index.ts";

it("gives a new listener the last value at once, and then only the newest unread one", async () => {
  const b = createBroadcaster<number>();
  b.send(1);
  const listener = b.listen();
  expect(await listener.receive()).toBe(1);
  b.send(2);
  b.send(3);
  expect(await listener.receive()).toBe(3);
});

it("wakes a reader that waits", async () => {
  const b = createBroadcaster<string>();
  const listener = b.listen();
  const next = listener.receive();
  b.send("hello");
  expect(await next).toBe("hello");
});

it("does not mix up its listeners", async () => {
  const b = createBroadcaster<number>();
  const [one, two] = [b.listen(), b.listen()];
  b.send(1);
  expect(await one.receive()).toBe(1);
  one.close();
  b.send(2);
  expect(await two.receive()).toBe(2);
  expect(await one.receive()).toBeUndefined();
});

it("closing lets readers finish what is in their mailbox, and refuses to send", async () => {
  const b = createBroadcaster<number>();
  const listener = b.listen();
  const late = b.listen();
  b.send(7);
  b.close();
  b.close();
  expect(await listener.receive()).toBe(7);
  expect(await listener.receive()).toBeUndefined();
  expect(() => b.send(8)).toThrow("alloc broadcaster closed");
  expect(await b.listen().receive()).toBeUndefined();
  late.close();
  late.close();
});

it("ends a wait with the signal's reason, leaving nothing behind", async () => {
  const listener = createBroadcaster<number>().listen();
  const stop = new AbortController();
  const next = listener.receive({ signal: stop.signal });
  const reason = new Error("enough");
  stop.abort(reason);
  await expect(next).rejects.toBe(reason);
  await expect(listener.receive({ signal: stop.signal })).rejects.toBe(reason);
});

it("can be iterated until it closes, and closed by leaving the loop", async () => {
  const b = createBroadcaster<number>();
  const seen: number[] = [];
  const listener = b.listen();
  b.send(1);
  for await (const value of listener) {
    seen.push(value);
    if (value === 1) b.send(2);
    else b.close();
  }
  expect(seen).toEqual([1, 2]);
  const c = createBroadcaster<number>();
  c.send(5);
  using other = c.listen();
  for await (const value of other) {
    expect(value).toBe(5);
    break;
  }
  expect(await other.receive()).toBeUndefined();
});

it("a latch is given once, for everybody", async () => {
  const latch = createLatch();
  expect(latch.isSet).toBe(false);
  latch.set();
  latch.set();
  await latch.promise;
  expect(latch.isSet).toBe(true);
});

it("knows the words of pause requests", () => {
  expect(["", "force_run", "force_pause", "schedule_resume"].every(isPauseRequest)).toBe(true);
  expect(isPauseRequest("scheduled_pause")).toBe(false);
});
