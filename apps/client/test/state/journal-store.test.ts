import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeRecord } from "../../src/state/journal-format.ts";
import { openJournalStore } from "../../src/state/journal-store.ts";
import { FaultyFs } from "./faulty-fs.ts";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "outrider-state-"));
  file = join(dir, "state.journal");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("journal store", () => {
  it("keeps what was written over a reopen, with prefixes, deletes and puts applied in that order", async () => {
    const store = await openJournalStore({ dir });
    await store.write({ put: { "a/1": { n: 1 }, "a/2": [1, 2], b: "x", "b/c": null } });
    await store.write({ deletePrefix: ["a/"], delete: ["b"], put: { "a/3": true } });
    await store[Symbol.asyncDispose]();
    await using again = await openJournalStore({ dir });
    expect(again.list("")).toEqual([
      ["a/3", true],
      ["b/c", null],
    ]);
    expect(again.get("b")).toBeUndefined();
    expect(again.get("b/c")).toBeNull();
    expect(again.quarantined).toEqual([]);
  });

  it("answers reads only after the write is durable, and hands out copies", async () => {
    await using store = await openJournalStore({ dir });
    const value = { list: [1] };
    const writing = store.write({ put: { k: value } });
    expect(store.get("k")).toBeUndefined();
    value.list.push(2);
    await writing;
    const read = store.get<{ list: number[] }>("k")!;
    expect(read).toEqual({ list: [1] });
    read.list.push(9);
    expect(store.get("k")).toEqual({ list: [1] });
  });

  it("shares one sync between writes that are made together", async () => {
    const fs = new FaultyFs();
    await using store = await openJournalStore({ dir, fs });
    const before = fs.syncs;
    await Promise.all(Array.from({ length: 200 }, (_, i) => store.write({ put: { [`k${i}`]: i } })));
    expect(fs.syncs - before).toBe(1);
    expect(store.list("k")).toHaveLength(200);
  });

  it("writes nothing for a change that changes nothing", async () => {
    await using store = await openJournalStore({ dir });
    await store.write({ put: { k: 1 } });
    const size = statSync(file).size;
    await store.write({ put: { k: 1 }, delete: ["other"], deletePrefix: ["none/"] });
    expect(statSync(file).size).toBe(size);
  });

  it("refuses values that are not JSON by name and changes nothing", async () => {
    await using store = await openJournalStore({ dir });
    await expect(store.write({ put: { fine: 1, bad: undefined } })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_VALUE",
      details: { key: "bad" },
    });
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    await expect(store.write({ put: { loop } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_VALUE" });
    expect(store.list("")).toEqual([]);
  });

  it("refuses writes after its end", async () => {
    const store = await openJournalStore({ dir });
    await store[Symbol.asyncDispose]();
    await expect(store.write({ put: { k: 1 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_CLOSED" });
  });

  it("refuses a journal of a newer format, naming it, and leaves the file alone", async () => {
    writeFileSync(file, encodeRecord(JSON.stringify({ format: 99 })));
    const before = readFileSync(file);
    await expect(openJournalStore({ dir })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_NEWER",
      details: { format: 99 },
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("compacts when most of the file is history, and loses nothing by it", async () => {
    let store = await openJournalStore({ dir, compactAboveBytes: 4096 });
    for (let i = 0; i < 400; i++) await store.write({ put: { [`k${i % 10}`]: `value ${i} ${"x".repeat(50)}` } });
    expect(statSync(file).size).toBeLessThan(8192);
    await store[Symbol.asyncDispose]();
    store = await openJournalStore({ dir });
    expect(store.list("k")).toHaveLength(10);
    expect(store.get("k9")).toMatch(/^value 399 /);
    await store[Symbol.asyncDispose]();
  });

  it.each([
    ["cut in the middle of a record", (bytes: Buffer) => bytes.subarray(0, bytes.length - 3)],
    ["cut in a header", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from([0xf5, 0x4f])])],
    ["zeroed", (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(5000)])],
    ["garbage", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("no record at all")])],
  ])("cuts a tail that is %s and goes on", async (name, damage) => {
    const store = await openJournalStore({ dir });
    await store.write({ put: { first: 1 } });
    await store.write({ put: { second: 2 } });
    await store[Symbol.asyncDispose]();
    writeFileSync(file, damage(readFileSync(file)));
    const again = await openJournalStore({ dir });
    expect(again.get("first")).toBe(1);
    expect(again.get("second")).toBe(name.startsWith("cut in the middle") ? undefined : 2);
    expect(again.quarantined).toEqual([]);
    await again.write({ put: { third: 3 } });
    await again[Symbol.asyncDispose]();
    await using last = await openJournalStore({ dir });
    expect(last.get("third")).toBe(3);
  });

  it("salvages records behind damage, reports it and keeps the damaged file aside", async () => {
    const store = await openJournalStore({ dir });
    await store.write({ put: { first: 1 } });
    const from = statSync(file).size;
    await store.write({ put: { second: 2 } });
    await store.write({ put: { third: 3 } });
    await store[Symbol.asyncDispose]();
    const bytes = readFileSync(file);
    bytes[from + 20] = bytes[from + 20]! ^ 0xff;
    writeFileSync(file, bytes);
    const again = await openJournalStore({ dir });
    expect(again.list("")).toEqual([
      ["first", 1],
      ["third", 3],
    ]);
    expect(again.quarantined).toEqual([{ offset: from, reason: "checksum does not match" }]);
    expect(readdirSync(dir)).toContain("state.journal.damaged-0");
    await again.write({ put: { fourth: 4 } });
    await again[Symbol.asyncDispose]();
    await using last = await openJournalStore({ dir });
    expect(last.list("")).toHaveLength(3);
    expect(last.quarantined).toEqual([]);
  });

  it("starts with an empty file left by a power loss and says so (hashicorp/nomad#2560)", async () => {
    writeFileSync(file, "");
    await using store = await openJournalStore({ dir });
    expect(store.quarantined).toEqual([{ offset: 0, reason: "file is empty" }]);
    await store.write({ put: { k: 1 } });
  });

  it("keeps going when a well-formed record holds something else", async () => {
    writeFileSync(
      file,
      Buffer.concat([
        encodeRecord('{"format":1}'),
        encodeRecord('"hello"'),
        encodeRecord("nonsense"),
        encodeRecord('[{"p":{"k":1}}]'),
      ]),
    );
    await using store = await openJournalStore({ dir });
    expect(store.get("k")).toBe(1);
    expect(store.quarantined).toHaveLength(2);
  });

  it("tells a full disk to the caller, loses nothing and goes on once there is room", async () => {
    const fs = new FaultyFs();
    const store = await openJournalStore({ dir, fs });
    await store.write({ put: { k: "old" } });
    fs.capacity = fs.used + 40;
    await expect(store.write({ put: { k: "x".repeat(500) } })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_FULL",
      recoverable: true,
    });
    expect(store.get("k")).toBe("old");
    fs.capacity = Number.POSITIVE_INFINITY;
    await store.write({ put: { k: "new" } });
    await store[Symbol.asyncDispose]();
    await using again = await openJournalStore({ dir });
    expect(again.get("k")).toBe("new");
    expect(again.quarantined).toEqual([]);
  });

  it("answers each caller of a group by itself when not all fits", async () => {
    const fs = new FaultyFs();
    await using store = await openJournalStore({ dir, fs });
    fs.capacity = fs.used + 200;
    const results = await Promise.allSettled([
      store.write({ put: { big: "x".repeat(1000) } }),
      store.write({ put: { small: 1 } }),
    ]);
    expect(results.map((r) => r.status)).toEqual(["rejected", "fulfilled"]);
    expect(store.get("small")).toBe(1);
    expect(store.get("big")).toBeUndefined();
  });

  it("spends the reserve on a terminal state when the disk is full, and makes it anew later", async () => {
    const fs = new FaultyFs();
    await using store = await openJournalStore({ dir, fs, compactAboveBytes: 1 });
    fs.capacity = fs.used;
    await expect(store.write({ put: { normal: 1 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_FULL" });
    await store.write({ put: { done: "exit 3" }, urgent: true });
    expect(store.get("done")).toBe("exit 3");
    expect(readdirSync(dir)).not.toContain("state.journal.reserve");
    await expect(store.write({ put: { more: "x".repeat(80_000) }, urgent: true })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_FULL",
    });
    fs.capacity = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 50; i++) await store.write({ put: { k: i } });
    expect(readdirSync(dir)).toContain("state.journal.reserve");
  });

  it("survives a full disk while compacting", async () => {
    const fs = new FaultyFs();
    const store = await openJournalStore({ dir, fs, compactAboveBytes: 2048, reserveBytes: 0 });
    for (let i = 0; i < 20; i++) await store.write({ put: { [`k${i}`]: "x".repeat(80) } });
    fs.capacity = fs.used + 1500;
    for (let i = 0; i < 20; i++) await store.write({ put: { k0: i } }).catch(() => undefined);
    fs.capacity = Number.POSITIVE_INFINITY;
    await store.write({ put: { last: 1 } });
    await store[Symbol.asyncDispose]();
    await using again = await openJournalStore({ dir });
    expect(again.list("k")).toHaveLength(20);
    expect(again.get("last")).toBe(1);
  });

  it("writes a new file after a failed sync instead of trusting the descriptor", async () => {
    const fs = new FaultyFs();
    const store = await openJournalStore({ dir, fs });
    await store.write({ put: { k: 1 } });
    const inode = statSync(file).ino;
    fs.failSyncs = 1;
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({
      code: "ERR_OUTRIDER_STATE_IO",
      recoverable: true,
    });
    expect(store.get("k")).toBe(1);
    expect(statSync(file).ino).not.toBe(inode);
    await store.write({ put: { k: 3 } });
    await store[Symbol.asyncDispose]();
    await using again = await openJournalStore({ dir });
    expect(again.get("k")).toBe(3);
  });

  it("goes read-only when no new file can be written either, and still answers reads", async () => {
    const fs = new FaultyFs();
    await using store = await openJournalStore({ dir, fs });
    await store.write({ put: { k: 1 } });
    fs.failSyncs = 1;
    fs.failOpens = 1;
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_IO" });
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_READ_ONLY" });
    expect(store.get("k")).toBe(1);
  });

  it("cuts a half-written record off again, or replaces the file when it cannot", async () => {
    const fs = new FaultyFs();
    const store = await openJournalStore({ dir, fs });
    await store.write({ put: { k: 1 } });
    const size = statSync(file).size;
    fs.failWrites = 1;
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_IO" });
    expect(statSync(file).size).toBe(size);
    fs.failWrites = 1;
    fs.failTruncates = 1;
    const inode = statSync(file).ino;
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_IO" });
    expect(statSync(file).ino).not.toBe(inode);
    await store.write({ put: { k: 4 } });
    await store[Symbol.asyncDispose]();
    await using again = await openJournalStore({ dir });
    expect(again.get("k")).toBe(4);
  });

  it("goes read-only when the folder cannot be synced after a rename", async () => {
    const fs = new FaultyFs();
    await using store = await openJournalStore({ dir, fs });
    fs.failSyncs = 1;
    fs.failDirSyncs = 1;
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_IO" });
    await expect(store.write({ put: { k: 2 } })).rejects.toMatchObject({ code: "ERR_OUTRIDER_STATE_READ_ONLY" });
  });

  it("works without space for a reserve, and keeps files private", async () => {
    const fs = new FaultyFs();
    fs.capacity = 2000;
    await using store = await openJournalStore({ dir, fs });
    await store.write({ put: { k: 1 } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    appendFileSync(file, "");
  });
});
