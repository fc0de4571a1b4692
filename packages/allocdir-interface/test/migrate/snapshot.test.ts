import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { MessageChannel } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import { namesById, readAccounts } from "../../src/migrate/accounts.ts";
import { MAX_DEPTH, writeArchive, type ArchiveRequest } from "../../src/migrate/archive-writer.ts";
import { Gate } from "../../src/migrate/gate.ts";
import { writeSnapshot } from "../../src/migrate/snapshot.ts";
import type { SnapshotMessage } from "../../src/migrate/snapshot-protocol.ts";
import { serveSnapshot } from "../../src/migrate/snapshot-worker.ts";
import { encodeHeader, type TarHeader } from "../../src/migrate/tar-format.ts";
import { ALLOC_ID, tempAlloc } from "../temp-alloc.ts";
import { collector, readAll, snapshotOf } from "./archives.ts";

const temp = mkdtempSync(join(tmpdir(), "outrider-snapshot-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

/** A folder of its own, and the request to archive it as `alloc/data`. */
function folder(name: string, o: Partial<ArchiveRequest> = {}): { path: string; request: ArchiveRequest } {
  mkdirSync(join(temp, name));
  const request = {
    allocId: ALLOC_ID,
    roots: [{ name: "alloc/data", base: temp, below: [name] }],
    secrets: [],
    taskParents: [],
  };
  return { path: join(temp, name), request: { ...request, ...o } };
}

function archive(request: ArchiveRequest): { report: ReturnType<typeof writeArchive>; bytes: Buffer } {
  const parts: Uint8Array[] = [];
  const report = writeArchive(request, (chunk) => void parts.push(chunk));
  return { report, bytes: Buffer.concat(parts) };
}

describe("a snapshot of an allocation", () => {
  it("holds data and each registered task's local, in order, whole and with its metadata, and nothing else", async () => {
    await using t = await tempAlloc({ tasks: ["web", "api"] });
    const base = t.alloc.allocDirPath;
    for (const [path, text] of [
      ["alloc/data/d", "data"],
      ["alloc/logs/web.stdout.0", "LOG"],
      ["alloc/tmp/t", "TMP"],
      ["web/local/sub/f", "web"],
      ["web/secrets/token", "SECRET"],
      ["web/private/token", "SECRET"],
      ["web/tmp/t", "TMP"],
      ["web/executable", "BIN"],
      ["api/local/f", "api"],
      ["api/local/empty", ""],
    ] as const) {
      mkdirSync(join(base, path, ".."), { recursive: true });
      writeFileSync(join(base, path), text);
    }
    mkdirSync(join(base, "unknown/local"), { recursive: true });
    symlinkSync("/etc/passwd", join(base, "web/local/absolute"));
    symlinkSync("../secrets/token", join(base, "web/local/relative"));
    chmodSync(join(base, "web/local/sub/f"), 0o4751);
    utimesSync(join(base, "web/local/sub/f"), 1_700_000_000.9, 1_700_000_000.9);
    const { entries, trailer } = await readAll(await snapshotOf(t.alloc));
    expect(entries.map((e) => [e.name, e.flag, e.text])).toEqual([
      ["alloc/data", "5", ""],
      ["alloc/data/d", "0", "data"],
      ["api/local", "5", ""],
      ["api/local/empty", "0", ""],
      ["api/local/f", "0", "api"],
      ["web/local", "5", ""],
      ["web/local/absolute", "2", ""],
      ["web/local/relative", "2", ""],
      ["web/local/sub", "5", ""],
      ["web/local/sub/f", "0", "web"],
    ]);
    expect(trailer).toBe(true);
    expect(entries.find((e) => e.name.endsWith("/absolute"))?.linkname).toBe("/etc/passwd");
    expect(entries.find((e) => e.name.endsWith("sub/f"))).toMatchObject({
      mode: 0o4751,
      mtime: 1_700_000_000,
      uid: process.getuid?.(),
    });
  });

  it("leaves fifos, sockets and what has a second name in secrets out, and reports them (a stock agent hangs or stops there)", async () => {
    await using t = await tempAlloc();
    const local = join(t.alloc.allocDirPath, "web/local");
    execFileSync("mkfifo", [join(local, "fifo")]);
    const server = createServer().listen(join(local, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    writeFileSync(join(t.alloc.allocDirPath, "web/secrets/s"), "SECRET");
    linkSync(join(t.alloc.allocDirPath, "web/secrets/s"), join(local, "hard"));
    writeFileSync(join(local, "one"), "1");
    linkSync(join(local, "one"), join(local, "two"));
    const { out, bytes } = collector();
    const report = await t.alloc.snapshot(out);
    server.close();
    expect(report).toEqual({
      entries: 4,
      bytes: 2,
      skipped: 3,
      skippedPaths: [
        { path: "web/local/fifo", reason: "fifo" },
        { path: "web/local/hard", reason: "link" },
        { path: "web/local/socket", reason: "socket" },
      ],
    });
    const { entries } = await readAll(bytes());
    expect(entries.map((e) => e.name)).toEqual(["alloc/data", "web/local", "web/local/one", "web/local/two"]);
  });

  it("is not led away by a link in the place of local, and does without what is missing", async () => {
    await using t = await tempAlloc({ tasks: ["web", "api"] });
    rmSync(join(t.alloc.allocDirPath, "web/local"), { recursive: true });
    symlinkSync("secrets", join(t.alloc.allocDirPath, "web/local"));
    rmSync(join(t.alloc.allocDirPath, "api/local"), { recursive: true });
    const { out, bytes } = collector();
    expect(await t.alloc.snapshot(out)).toMatchObject({ skippedPaths: [{ path: "web/local", reason: "link" }] });
    expect((await readAll(bytes())).entries.map((e) => e.name)).toEqual(["alloc/data"]);
  });

  it("says that there is no directory, and gives up with the signal and with the allocation", async () => {
    await using t = await tempAlloc();
    writeFileSync(join(t.alloc.allocDirPath, "alloc/data/big"), "");
    truncateSync(join(t.alloc.allocDirPath, "alloc/data/big"), 64 * 1024 * 1024);
    // Nobody reads: the snapshot waits with a bounded amount in its hands.
    const stalled = new PassThrough();
    stalled.on("error", () => undefined);
    const stop = new AbortController();
    const aborted = t.alloc.snapshot(stalled, { signal: stop.signal });
    await new Promise((resolve) => stalled.once("readable", resolve));
    stop.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    expect(stalled.destroyed).toBe(true);
    const doomed = new PassThrough();
    doomed.on("error", () => undefined);
    const failing = t.alloc.snapshot(doomed);
    const failed = expect(failing).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_DESTROYED" });
    await new Promise((resolve) => doomed.once("readable", resolve));
    await t.alloc.destroy();
    await failed;
    const late = new PassThrough();
    late.on("error", () => undefined);
    await expect(t.alloc.snapshot(late)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_DESTROYED" });
    rmSync(t.alloc.allocDirPath, { recursive: true, force: true });
    await t.alloc.build();
    rmSync(t.alloc.allocDirPath, { recursive: true, force: true });
    const gone = new PassThrough();
    gone.on("error", () => undefined);
    await expect(t.alloc.snapshot(gone)).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_NOT_BUILT" });
    expect(gone.destroyed).toBe(true);
  });

  it("tells the reader of an output that fails or is ended by somebody else", async () => {
    await using t = await tempAlloc();
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("broken pipe")) });
    broken.on("error", () => undefined);
    await expect(t.alloc.snapshot(broken)).rejects.toThrow("broken pipe");
    const ended = new PassThrough();
    ended.on("error", () => undefined);
    ended.end().resume();
    await expect(t.alloc.snapshot(ended)).rejects.toThrow();
  });

  it("can be listed by the tar of the system", async () => {
    if (spawnSync("tar", ["--version"]).status !== 0) return console.warn("no tar on this machine: not compared");
    await using t = await tempAlloc();
    const long = `${"d".repeat(120)}/${"f".repeat(150)}`;
    mkdirSync(join(t.alloc.allocDirPath, "web/local", "d".repeat(120)));
    writeFileSync(join(t.alloc.allocDirPath, "web/local", long), "long");
    writeFileSync(join(t.alloc.allocDirPath, "web/local/ümläut"), "u");
    const listed = execFileSync("tar", ["tf", "-"], {
      input: await snapshotOf(t.alloc),
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    }).toString();
    const names = listed.split("\n").map((name) => name.replace(/\/$/, ""));
    expect(names.slice(0, 5)).toEqual([
      "alloc/data",
      "web/local",
      `web/local/${"d".repeat(120)}`,
      `web/local/${long}`,
      "web/local/ümläut",
    ]);
  });
});

describe("an archive", () => {
  it("tells of its failure in a last entry with Nomad's name and time, and still has an end", async () => {
    const { path, request } = folder("deep");
    let at = path;
    for (let i = 0; i < MAX_DEPTH; i++) mkdirSync((at = join(at, "d")));
    const parts: Uint8Array[] = [];
    expect(() => writeArchive(request, (chunk) => void parts.push(chunk))).toThrow("nested deeper than 128");
    const { entries, trailer } = await readAll(Buffer.concat(parts));
    const last = entries.at(-1);
    expect(last).toMatchObject({ name: `NOMAD-${ALLOC_ID}-ERROR.log`, mode: 0o666, mtime: 943_920_000, flag: "0" });
    expect(last?.text).toMatch(/^Error snapshotting: "alloc\/data\/d\/d/);
    expect([entries.length, trailer]).toEqual([MAX_DEPTH + 1, true]);
  });

  it("stays in step when a file becomes shorter or cannot be read while it is read", async () => {
    const { path, request } = folder("shrinking");
    writeFileSync(join(path, "a"), Buffer.alloc(3 * 1024 * 1024, "x"));
    const parts: Uint8Array[] = [];
    expect(() =>
      writeArchive(request, (chunk) => {
        if (parts.length === 0) truncateSync(join(path, "a"), 1024 * 1024);
        parts.push(chunk);
      }),
    ).toThrow("became shorter while it was read");
    const { entries, trailer } = await readAll(Buffer.concat(parts));
    expect(entries.map((e) => [e.name, e.size > 0])).toEqual([
      ["alloc/data", false],
      ["alloc/data/a", true],
      [`NOMAD-${ALLOC_ID}-ERROR.log`, true],
    ]);
    expect([entries[1]?.size, trailer]).toEqual([3 * 1024 * 1024, true]);
  });

  it("goes on without what vanishes or changes its kind while it is written", () => {
    const { path, request } = folder("vanishing");
    for (const name of ["a", "b", "c", "d"]) writeFileSync(join(path, name), Buffer.alloc(600 * 1024));
    mkdirSync(join(path, "e"));
    let first = true;
    const parts: Uint8Array[] = [];
    const report = writeArchive(request, (chunk) => {
      parts.push(chunk);
      if (!first) return;
      first = false;
      rmSync(join(path, "b"));
      rmSync(join(path, "c"));
      symlinkSync("/etc/passwd", join(path, "c"));
      rmSync(join(path, "e"), { recursive: true });
      writeFileSync(join(path, "e"), "");
      rmSync(join(path, "d"));
      mkdirSync(join(path, "d"));
    });
    expect(report.skippedPaths).toEqual(
      ["b", "c", "d", "e"].map((n) => ({ path: `alloc/data/${n}`, reason: "vanished" })),
    );
  });

  it("never enters a directory that it was told to protect, whatever it is called, and skips names that are no text", () => {
    const { path, request } = folder("protected");
    mkdirSync(join(path, "inner"));
    writeFileSync(join(path, "inner/secret"), "S");
    linkSync(join(path, "inner/secret"), join(path, "linked"));
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0xfe])]), "x");
    const { report } = archive({
      ...request,
      secrets: [
        { base: temp, below: ["protected", "inner"] },
        { base: temp, below: ["nothing"] },
      ],
    });
    expect(report).toMatchObject({ entries: 1, skipped: 3 });
    expect(report.skippedPaths.map((s) => s.reason)).toEqual(["link", "link", "name"]);
  });

  it("takes every file with a second name for protected when secrets hold too many to know", () => {
    const { path, request } = folder("many");
    mkdirSync(join(path, "secrets"));
    for (let i = 0; i < 10_002; i++) writeFileSync(join(path, "secrets", String(i)), "");
    mkdirSync(join(path, "local"));
    writeFileSync(join(path, "local/a"), "");
    linkSync(join(path, "local/a"), join(path, "local/b"));
    const roots = [{ name: "many/local", base: temp, below: ["many", "local"] }];
    expect(archive({ ...request, roots, taskParents: [temp, join(temp, "none")] }).report).toMatchObject({
      entries: 1,
      skipped: 2,
    });
  });

  it("refuses names that are too long, and reports what may not be read", () => {
    const { path, request } = folder("long");
    writeFileSync(join(path, "f"), "");
    const roots = [{ name: "x".repeat(5000), base: temp, below: ["long"] }];
    expect(() => archive({ ...request, roots })).toThrow("longer than 4096 bytes");
    if (process.getuid?.() === 0) return;
    const closed = folder("closed");
    writeFileSync(join(closed.path, "f"), "x", { mode: 0 });
    expect(() => archive(closed.request)).toThrow("EACCES");
  });

  it("is served piece by piece by a thread that waits for its reader", async () => {
    const { path, request } = folder("served");
    writeFileSync(join(path, "a"), Buffer.alloc(100, "x"));
    const run = async (r: ArchiveRequest): Promise<SnapshotMessage[]> => {
      const { port1, port2 } = new MessageChannel();
      const seen: SnapshotMessage[] = [];
      const last = new Promise<void>((resolve) => {
        port2.on("message", (message: SnapshotMessage) => {
          seen.push(message);
          if (!("chunk" in message)) resolve();
        });
      });
      serveSnapshot(port1, { request: r, inFlight: new Int32Array(new SharedArrayBuffer(4)) });
      await last;
      port1.close();
      port2.close();
      return seen;
    };
    expect((await run(request)).at(-1)).toMatchObject({ report: { entries: 2, bytes: 100 } });
    const bad = { ...request, roots: [{ name: "alloc/data", base: temp, below: ["served", "a\0"] }] };
    expect((await run(bad)).at(-1)).toMatchObject({ failure: { code: "ERR_OUTRIDER_ALLOCDIR_IO" } });
    expect((await run({ ...request, roots: undefined as never })).at(-1)).toMatchObject({
      failure: { code: "", path: "" },
    });
    const out = new PassThrough();
    out.on("error", () => undefined).resume();
    await expect(writeSnapshot(bad, out, { signals: [] })).rejects.toMatchObject({ code: "ERR_OUTRIDER_ALLOCDIR_IO" });
    expect(out.writableFinished).toBe(true);
  });
});

describe("headers", () => {
  const plain: TarHeader = {
    name: "alloc/data/f",
    type: "file",
    mode: 0o644,
    uid: 1,
    gid: 2,
    uname: "u",
    gname: "g",
    size: 0,
    mtime: 1,
    linkname: "",
  };
  const roundTrip = async (h: Partial<TarHeader>): Promise<object> => {
    const { entries } = await readAll(Buffer.concat([encodeHeader({ ...plain, ...h, size: 0 }), Buffer.alloc(1024)]));
    return entries[0] as object;
  };

  it("carry what USTAR cannot hold in records, and need none where it can", async () => {
    expect(encodeHeader(plain).length).toBe(512);
    expect(encodeHeader({ ...plain, name: `${"d".repeat(155)}/${"f".repeat(100)}` }).length).toBe(512);
    const name = `alloc/data/${"d".repeat(200)}/ü`;
    expect(
      await roundTrip({
        name,
        uid: 2 ** 31,
        gid: 2 ** 40,
        mtime: -5,
        type: "symlink",
        linkname: `${"l".repeat(180)}é`,
      }),
    ).toMatchObject({ name, uid: 2 ** 31, gid: 2 ** 40, mtime: -5, linkname: `${"l".repeat(180)}é` });
    expect(await roundTrip({ mtime: 2 ** 40, uname: "ü".repeat(50) })).toMatchObject({ mtime: 2 ** 40 });
    // A record whose length grows a digit by counting itself.
    for (let n = 80; n < 110; n++)
      expect(await roundTrip({ name: `ü${"n".repeat(n)}` })).toMatchObject({ name: `ü${"n".repeat(n)}` });
    const big = encodeHeader({ ...plain, size: 2 ** 36 });
    expect(big.toString("latin1")).toContain(`size=${2 ** 36}\n`);
  });
});

describe("accounts", () => {
  it("are read where the system has them, the first of a number counting", () => {
    expect([...namesById("root:x:0:0\nbad\n:x:1\ntoor:x:0:0\nme:x:7:7\n")]).toEqual([
      [0, "root"],
      [7, "me"],
    ]);
    expect(
      readAccounts(() => {
        throw new Error("none");
      }).users.size,
    ).toBe(0);
  });
});

describe("the gate", () => {
  it("lets so many in, the others in their order, and forgets those who give up", async () => {
    const gate = new Gate(1);
    const never = new AbortController().signal;
    const leave = await gate.enter(never);
    const order: string[] = [];
    const stop = new AbortController();
    const b = gate.enter(stop.signal).then(() => order.push("b"));
    const c = gate.enter(never).then((out) => (order.push("c"), out));
    stop.abort(new Error("gave up"));
    await expect(b).rejects.toThrow("gave up");
    leave();
    (await c)();
    (await gate.enter(never))();
    expect(order).toEqual(["c"]);
    await expect(gate.enter(AbortSignal.abort(new Error("no")))).rejects.toThrow("no");
  });
});

describe("a disk that fails", () => {
  it("is told at the root and in the middle, and what cannot be an entry is left out", async () => {
    const { path, request } = folder("failing");
    writeFileSync(join(path, "a"), "a");
    const broken = { ...request, roots: [{ name: "alloc/data", base: temp, below: ["failing\0"] }] };
    expect(() => archive(broken)).toThrow("ERR_INVALID_ARG_VALUE");
    const linked = { ...request, roots: [{ name: "alloc/data", base: temp, below: ["failing", "a"] }] };
    expect(archive(linked).report.skippedPaths).toEqual([{ path: "alloc/data", reason: "link" }]);
    // More than are named in a report.
    for (let i = 0; i < 110; i++) symlinkSync("x", join(path, `l${i}`));
    const many = folder("many-fifos");
    execFileSync(
      "mkfifo",
      Array.from({ length: 105 }, (_, i) => join(many.path, `f${i}`)),
    );
    expect(archive(many.request).report).toMatchObject({ skipped: 105, entries: 1 });
    expect(archive(many.request).report.skippedPaths).toHaveLength(100);
    expect(archive(request).report).toMatchObject({ entries: 112, skipped: 0 });
  });

  it.skipIf(process.getuid?.() !== 0)("leaves devices out", () => {
    const { path, request } = folder("devices");
    execFileSync("mknod", [join(path, "null"), "c", "1", "3"]);
    expect(archive(request).report.skippedPaths).toEqual([{ path: "alloc/data/null", reason: "device" }]);
  });
});
