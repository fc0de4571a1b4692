import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readTar } from "../../src/conformance/read-tar.ts";
import { writeArchive, type ArchiveRequest } from "../../src/migrate/archive-writer.ts";
import { serveSnapshot } from "../../src/migrate/snapshot-worker.ts";
import type { SnapshotMessage } from "../../src/migrate/snapshot-protocol.ts";
import { ALLOC_ID } from "../temp-alloc.ts";

// What runs in a thread of its own otherwise: here in this one, where its steps can be told apart.
let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "outrider-archive-"));
  for (const dir of ["alloc/data", "web/local", "web/secrets/deep", "web/private"])
    mkdirSync(join(base, dir), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const request = (o: Partial<ArchiveRequest> = {}): ArchiveRequest => ({
  allocId: ALLOC_ID,
  roots: [
    { name: "alloc/data", base, below: ["alloc", "data"] },
    { name: "web/local", base, below: ["web", "local"] },
    { name: "gone/local", base, below: ["gone", "local"] },
  ],
  secrets: [],
  taskParents: [base],
  ...o,
});

const written = (o: Partial<ArchiveRequest> = {}): { names: string[]; report: ReturnType<typeof writeArchive> } => {
  const parts: Buffer[] = [];
  const report = writeArchive(request(o), (chunk) => void parts.push(Buffer.from(chunk)));
  return { names: readTar(Buffer.concat(parts)).map((entry) => `${entry.type} ${entry.name}`), report };
};

it("files, folders and links go in, in order; what is none of them is named as left out", () => {
  writeFileSync(join(base, "web/local/b"), "b");
  writeFileSync(join(base, "web/local/a"), "a");
  mkdirSync(join(base, "web/local/dir"));
  symlinkSync("/etc/passwd", join(base, "web/local/link"));
  execFileSync("mkfifo", [join(base, "web/local/fifo")]);
  const { names, report } = written();
  expect(names).toEqual([
    "5 alloc/data",
    "5 web/local",
    "0 web/local/a",
    "0 web/local/b",
    "5 web/local/dir",
    "2 web/local/link",
  ]);
  expect(report).toMatchObject({ entries: 6, bytes: 2, skippedPaths: [{ path: "web/local/fifo", reason: "fifo" }] });
});

it("a root that is a link or a file is left out, and so is one that is another task's secrets", () => {
  rmSync(join(base, "alloc/data"), { recursive: true });
  symlinkSync("/etc", join(base, "alloc/data"));
  rmSync(join(base, "web/local"), { recursive: true });
  writeFileSync(join(base, "web/local"), "");
  const { names, report } = written({
    roots: [...request().roots, { name: "x/local", base, below: ["web", "secrets"] }],
  });
  expect(names).toEqual([]);
  expect(report.skippedPaths.map(({ path }) => path)).toEqual(["alloc/data", "web/local", "x/local"]);
});

it("a second name of a secret is left out, however deep the secret lies; one of another file is not", () => {
  writeFileSync(join(base, "web/secrets/deep/token"), "s3cr3t");
  linkSync(join(base, "web/secrets/deep/token"), join(base, "web/local/leak"));
  writeFileSync(join(base, "web/local/a"), "a");
  linkSync(join(base, "web/local/a"), join(base, "web/local/b"));
  const { names, report } = written();
  expect(names).toEqual(["5 alloc/data", "5 web/local", "0 web/local/a", "0 web/local/b"]);
  expect(report.skippedPaths).toEqual([{ path: "web/local/leak", reason: "link" }]);
});

it("no more than a hundred of what was left out are named", () => {
  const fifos = Array.from({ length: 120 }, (_, i) => join(base, `web/local/f${i}`));
  execFileSync("mkfifo", fifos);
  const { report } = written();
  expect([report.skipped, report.skippedPaths.length]).toEqual([120, 100]);
});

it("a thread hands on pieces, then its report, or what failed", async () => {
  const heard = async (job: ArchiveRequest): Promise<SnapshotMessage[]> => {
    const { port1, port2 } = new MessageChannel();
    const messages: SnapshotMessage[] = [];
    const done = new Promise<void>((resolve) =>
      port2.on("message", (message: SnapshotMessage) => {
        messages.push(message);
        if (!("chunk" in message)) resolve();
      }),
    );
    serveSnapshot(port1 as MessagePort, { request: job, inFlight: new Int32Array(new SharedArrayBuffer(4)) });
    await done;
    port1.close();
    return messages;
  };
  writeFileSync(join(base, "web/local/a"), "a");
  expect((await heard(request())).map((message) => Object.keys(message)[0])).toEqual(["chunk", "report"]);
  mkdirSync(join(base, "web/local", "d/".repeat(140)), { recursive: true });
  expect((await heard(request())).at(-1)).toMatchObject({
    failure: { code: "ERR_OUTRIDER_ALLOCDIR_ARCHIVE_LIMIT", path: expect.stringContaining("web/local") as string },
  });
});
