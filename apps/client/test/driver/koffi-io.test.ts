/** The readiness poller over real pipes; without koffi there is none. */
import { noopLogger } from "@outrider/foundation";
import { closeSync, readSync, writeSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReadinessPoller } from "@outrider/allocdir-interface/logs";
import { loadNativeIo } from "../../src/logs/koffi-io.ts";

const native = loadNativeIo(noopLogger);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(native === undefined)("the readiness poller", () => {
  let poller: ReadinessPoller;
  let ends: [number, number];
  beforeEach(() => {
    poller = (native as NonNullable<typeof native>).createPoller();
    ends = (native as NonNullable<typeof native>).pipe();
  });
  afterEach(async () => {
    poller.close();
    ends.forEach((fd) => closeSync(fd));
    await pause(20);
  });

  const readable = (fd: number): Promise<void> => new Promise((resolve) => poller.add(fd, resolve));

  it("tells of a pipe that has something to read, once until it is rearmed", async () => {
    let count = 0;
    poller.add(ends[0], () => count++);
    writeSync(ends[1], "a");
    await pause(100);
    expect(count).toBe(1);
    poller.rearm(ends[0]);
    await pause(100);
    expect(count).toBe(2);
  });

  it("waits without using the processor, also after it was once without anything to wait for", async () => {
    for (let round = 0; round < 3; round++) {
      poller.add(ends[0], () => undefined);
      await pause(20);
      poller.remove(ends[0]);
      await pause(20);
    }
    const news = readable(ends[0]);
    await pause(20);
    const before = process.cpuUsage();
    await pause(500);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(200);
    writeSync(ends[1], "b");
    await news;
    expect(readSync(ends[0], Buffer.alloc(8))).toBe(1);
  });
});
