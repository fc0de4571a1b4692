// Reading a file through the file API (paths resolved by descriptors, frames with offsets) and through a plain fs.createReadStream, in the same run.
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { streamFile, taskLogs } from "../src/index.ts";
import { createLocalAllocDir } from "../src/local/index.ts";

const BYTES = 256 * 2 ** 20;
const CHUNK = 65_536;
/** Ours and theirs take turns, so that the noise of the machine meets both. */
const ROUNDS = 7;
const never = new AbortController().signal;

const root = mkdtempSync(join(tmpdir(), "outrider-bench-"));
const alloc = createLocalAllocDir({ allocId: "0a1b2c3d-0000-4000-8000-00000000abcd", root, asRoot: false });
await alloc.build();
await alloc.newTaskDir({ name: "web" }).build({ isolation: "none" });
const path = "alloc/logs/web.stdout.0";
writeFileSync(join(alloc.allocDirPath, path), Buffer.alloc(BYTES, "0123456789abcdef"));

async function readAt(): Promise<number> {
  await using reader = await alloc.readAt(path, 0);
  let count = 0;
  for (let data = await reader.read(CHUNK); data.length > 0; data = await reader.read(CHUNK)) count += data.length;
  return count;
}
async function frames(all: AsyncIterable<{ readonly data?: Uint8Array }>): Promise<number> {
  let count = 0;
  for await (const frame of all) count += frame.data?.length ?? 0;
  return count;
}
async function plain(): Promise<number> {
  let count = 0;
  for await (const data of createReadStream(join(alloc.allocDirPath, path), { highWaterMark: CHUNK }))
    count += (data as Buffer).length;
  return count;
}
const request = { offset: 0, origin: "start", follow: false } as const;
const cases: Array<[name: string, run: () => Promise<number>]> = [
  ["readAt", readAt],
  ["stream of a file", () => frames(streamFile(alloc, { ...request, path }, { signal: never }))],
  ["log of a task", () => frames(taskLogs(alloc, { ...request, task: "web", type: "stdout" }, { signal: never }))],
];

async function speed(run: () => Promise<number>): Promise<number> {
  const start = performance.now();
  const count = await run();
  if (count !== BYTES) throw new Error(`${count} bytes were read`);
  return BYTES / 1e6 / ((performance.now() - start) / 1000);
}
const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

try {
  for (const [name, run] of cases) {
    const ours: number[] = [];
    const theirs: number[] = [];
    await speed(run);
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await speed(run));
      theirs.push(await speed(plain));
    }
    console.log(
      JSON.stringify({
        package: "allocdir-interface",
        case: `${name}, 256 MiB`,
        ours: median(ours),
        peer: "fs.createReadStream",
        theirs: median(theirs),
        unit: "MB/s",
        ratio: median(ours) / median(theirs),
        goal: "≥ 0.7×",
      }),
    );
  }
} finally {
  await alloc.destroy();
  rmSync(root, { recursive: true, force: true });
}
