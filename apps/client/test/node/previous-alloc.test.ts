import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLatch, type AllocRunner } from "@outrider/alloc-runner";
import type { AllocDir } from "@outrider/allocdir-interface";
import { createLocalAllocDir } from "@outrider/allocdir-interface/local";
import type { Allocation, EphemeralDisk } from "@outrider/nomad-structs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PreviousAlloc, type PreviousAllocOptions } from "../../src/node/previous-alloc.ts";
import { alloc } from "./harness.ts";

const OLD = "0a1b2c3d-0000-4000-8000-000000000001";
const NEW = "0a1b2c3d-0000-4000-8000-000000000002";
const never = new AbortController().signal;

let root: string;
let server: Server | undefined;
const dirs: AllocDir[] = [];
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "outrider-previous-"))));
afterEach(async () => {
  server?.close();
  server?.closeAllConnections();
  server = undefined;
  for (const dir of dirs.splice(0)) await dir.destroy();
  rmSync(root, { recursive: true, force: true });
});

async function dirOf(id: string, files: Record<string, string> = {}, at = root): Promise<AllocDir> {
  const dir = createLocalAllocDir({ allocId: id, root: at, asRoot: false });
  dirs.push(dir);
  await dir.build();
  if (Object.keys(files).length > 0) await dir.newTaskDir({ name: "t" }).build({ isolation: "none" });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(dir.allocDirPath, path), text);
  return dir;
}

const FILES = { "alloc/data/d": "data", "t/local/f": "local", "t/secrets/s": "SECRET", "alloc/logs/t.stdout.0": "log" };

/** The replacement of OLD, with a disk of this kind. */
function replacement(disk: Partial<EphemeralDisk> | null): Allocation {
  const one = alloc(NEW, { PreviousAllocation: OLD });
  const [group] = one.Job?.TaskGroups ?? [];
  if (group !== undefined) group.EphemeralDisk = disk && { Sticky: false, Migrate: false, SizeMB: 300, ...disk };
  return one;
}

function fakeRunner(
  dir: AllocDir | undefined,
  status = "complete",
): { runner: AllocRunner<AllocDir>; end: () => void; state: { destroyed: boolean } } {
  const ended = createLatch();
  if (status === "complete") ended.set();
  const state = { destroyed: false };
  const runner = {
    waitDone: ended.promise,
    allocState: () => ({ clientStatus: status }),
    isDestroyed: () => state.destroyed,
    getAllocDir: () => dir,
  };
  return { runner: runner as unknown as AllocRunner<AllocDir>, end: () => ended.set(), state };
}

function previous(o: Partial<PreviousAllocOptions>): { prev: PreviousAlloc; held: string[] } {
  const held: string[] = [];
  const prev = new PreviousAlloc({
    alloc: replacement({ Sticky: true }),
    nodeId: "node",
    allocRoot: root,
    runnerOf: () => undefined,
    link: { findDisk: () => Promise.resolve(undefined) },
    hold: (id) => {
      held.push(`hold ${id.slice(-1)}`);
      return () => void held.push("let go");
    },
    ...o,
  });
  return { prev, held };
}

describe("the disk of a previous allocation of this node", () => {
  it("is moved when it is sticky, or to be migrated, after the last of its tasks has ended", async () => {
    for (const disk of [{ Sticky: true }, { Migrate: true }]) {
      const old = await dirOf(OLD, FILES);
      const fresh = await dirOf(NEW);
      const { runner, end } = fakeRunner(old, "failed");
      const { prev, held } = previous({
        alloc: replacement(disk),
        runnerOf: (id) => (id === OLD ? runner : undefined),
      });
      await prev.wait(never);
      const migrating = prev.migrate(fresh, never);
      await Promise.resolve();
      expect([prev.isMigrating(), held]).toEqual([true, []]);
      end();
      expect(await migrating).toEqual({
        migrated: true,
        text: "Ephemeral disk of 0a1b2c3d taken over (alloc/data, t/local)",
      });
      expect([prev.isMigrating(), held]).toEqual([false, ["hold 1", "let go"]]);
      expect(readFileSync(join(fresh.allocDirPath, "t/local/f"), "utf8")).toBe("local");
      // Its logs can still be read.
      expect((await old.list("alloc/logs")).map((e) => e.Name)).toEqual(["t.stdout.0"]);
      for (const dir of dirs.splice(0)) await dir.destroy();
    }
  });

  it("stays where it is without such a block, and when there was no previous allocation", async () => {
    const old = await dirOf(OLD, FILES);
    const fresh = await dirOf(NEW);
    const { runner } = fakeRunner(old);
    for (const one of [
      replacement({}),
      replacement(null),
      alloc(NEW, { PreviousAllocation: OLD, Job: null }),
      alloc(NEW),
    ])
      expect(await previous({ alloc: one, runnerOf: () => runner }).prev.migrate(fresh, never)).toBeUndefined();
    expect(readFileSync(join(old.allocDirPath, "t/local/f"), "utf8")).toBe("local");
  });

  it("is told to be missing when it is", async () => {
    const fresh = await dirOf(NEW);
    const gone = await dirOf(OLD);
    await gone.destroy();
    const { runner, state } = fakeRunner(gone);
    expect(await previous({ runnerOf: () => runner }).prev.migrate(fresh, never)).toEqual({
      migrated: false,
      text: "Ephemeral disk of 0a1b2c3d not taken over: it has none any more",
    });
    state.destroyed = true;
    const notHere = {
      migrated: false,
      text: expect.stringContaining("not on this node, and migrate is not set") as string,
    };
    expect(await previous({ runnerOf: () => runner }).prev.migrate(fresh, never)).toEqual(notHere);
    expect(await previous({}).prev.migrate(fresh, never)).toEqual(notHere);
  });

  it("is waited for until the signal", async () => {
    const { runner } = fakeRunner(undefined, "running");
    const { prev } = previous({ runnerOf: () => runner });
    const stop = new AbortController();
    const waiting = prev.wait(stop.signal);
    expect(prev.isWaiting()).toBe(true);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(prev.isWaiting()).toBe(false);
    await expect(prev.wait(stop.signal)).rejects.toThrow("enough");
    await previous({}).prev.wait(never);
  });
});

describe("the disk of a previous allocation of another node", () => {
  async function remote(answer: (url: string, token: unknown) => Promise<Buffer | number>): Promise<string> {
    server = createServer((request, response) => {
      void answer(request.url ?? "", request.headers["x-nomad-token"]).then((a) =>
        typeof a === "number" ? response.writeHead(a).end("no") : response.end(a),
      );
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function archiveOf(dir: AllocDir): Promise<Buffer> {
    const { PassThrough } = await import("node:stream");
    const out = new PassThrough();
    const parts: Buffer[] = [];
    out.on("data", (part: Buffer) => parts.push(part));
    await dir.snapshot(out);
    return Buffer.concat(parts);
  }

  it("is fetched with its token, unpacked aside and moved in", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "outrider-elsewhere-"));
    const archive = await archiveOf(await dirOf(OLD, FILES, elsewhere));
    const seen: unknown[] = [];
    const address = await remote((url, token) => {
      seen.push(url, token);
      return Promise.resolve(archive);
    });
    const asked: unknown[] = [];
    const { prev } = previous({
      alloc: replacement({ Migrate: true }),
      link: {
        findDisk: ({ nodeId, allocId }) => {
          asked.push(nodeId, allocId);
          return Promise.resolve({ address, token: "tok" });
        },
      },
    });
    const fresh = await dirOf(NEW);
    expect(await prev.migrate(fresh, never)).toEqual({
      migrated: true,
      text: `Ephemeral disk of 0a1b2c3d fetched from ${address} (9 bytes)`,
    });
    expect([asked, seen]).toEqual([
      ["node", OLD],
      [`/v1/client/allocation/${OLD}/snapshot`, "tok"],
    ]);
    expect(readFileSync(join(fresh.allocDirPath, "alloc/data/d"), "utf8")).toBe("data");
    expect(readdirSync(root)).toEqual([NEW]);
    await dirs[0]?.destroy();
    rmSync(elsewhere, { recursive: true });
  });

  it("is refused when it is too large, broken off or not given, and leaves nothing behind", async () => {
    const big = await dirOf(OLD, { ...FILES, "alloc/data/big": "x".repeat(2 * 1024 * 1024) });
    const archive = await archiveOf(big);
    await big.destroy();
    const answers: (Buffer | number)[] = [archive, archive.subarray(0, 600), 403];
    const address = await remote(() => Promise.resolve(answers.shift() ?? 500));
    const { prev } = previous({
      alloc: replacement({ Migrate: true, SizeMB: 1 }),
      link: { findDisk: () => Promise.resolve({ address }) },
    });
    const fresh = await dirOf(NEW);
    for (const code of ["ARCHIVE_LIMIT", "ARCHIVE_TRUNCATED", "FETCH"])
      await expect(prev.migrate(fresh, never)).rejects.toMatchObject({ code: `ERR_OUTRIDER_ALLOCDIR_${code}` });
    expect(readdirSync(root)).toEqual([NEW]);
    const { prev: unknown } = previous({ alloc: replacement({ Migrate: true }) });
    expect(await unknown.migrate(fresh, never)).toMatchObject({ migrated: false });
  });
});
