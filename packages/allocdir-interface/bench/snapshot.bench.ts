// A snapshot in a thread of its own, as it is built for users, and GNU tar into a pipe: 100 files of 10 MiB and 10,000 of 1 KiB, in the same run.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "tsup";
import type * as Local from "../src/local/index.ts";

const ROUNDS = 7;
const MIB = 2 ** 20;

const root = mkdtempSync(join(tmpdir(), "outrider-bench-"));
const src = fileURLToPath(new URL("../src/", import.meta.url));
// Sources start a thread through a loader, which takes longer than the snapshot.
await build({
  entry: { local: join(src, "local/index.ts"), "snapshot-worker": join(src, "migrate/snapshot-worker.ts") },
  outDir: join(root, "dist"),
  format: ["esm"],
  target: "node20",
  platform: "node",
  outExtension: () => ({ js: ".js" }),
  noExternal: [/.*/],
  esbuildOptions: (o) => void (o.conditions = ["@outrider/source"]),
  config: false,
  silent: true,
  clean: false,
});
writeFileSync(join(root, "dist/package.json"), `{"type":"module"}`);
const { createLocalAllocDir } = (await import(pathToFileURL(join(root, "dist/local.js")).href)) as typeof Local;

const row = (
  name: string,
  ours: number,
  theirs: number | null,
  unit: string,
  ratio: number | null,
  goal: string,
): void =>
  console.log(
    JSON.stringify({
      package: "allocdir-interface",
      case: name,
      ours,
      peer: theirs === null ? null : "GNU tar",
      theirs,
      unit,
      ratio,
      goal,
    }),
  );
const isGnu = spawnSync("tar", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU tar") === true;
if (!isGnu) process.stderr.write("no GNU tar on this machine: nothing to compare with\n");

/** CPU of this thread, ms. Time on the wall would also count what the machine does beside. */
const threadCpu = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;

/** The most CPU that this thread took between two turns of its timers. */
function watchTurns(): { stop: () => number } {
  let last = threadCpu();
  let longest = 0;
  const look = (): void => {
    const now = threadCpu();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}

async function measure(id: string, files: number, bytes: number, goal: string): Promise<void> {
  const alloc = createLocalAllocDir({ allocId: `0a1b2c3d-0000-4000-8000-00000000000${id}`, root, asRoot: false });
  await alloc.build();
  const data = join(alloc.allocDirPath, "alloc/data");
  const content = Buffer.alloc(bytes, "0123456789abcdef");
  for (let i = 0; i < files; i++) {
    const dir = join(data, `d${i % 100}`);
    if (i < 100) mkdirSync(dir);
    writeFileSync(join(dir, `f${i}`), content);
  }
  const ours = async (): Promise<[ms: number, turnMs: number, cpuMs: number]> => {
    let count = 0;
    const out = new Writable({ write: (chunk: Buffer, _encoding, done) => ((count += chunk.length), done()) });
    const turns = watchTurns();
    const cpu = process.cpuUsage();
    const start = performance.now();
    const report = await alloc.snapshot(out);
    const ms = performance.now() - start;
    const used = process.cpuUsage(cpu);
    if (report.bytes !== files * bytes || count < report.bytes) throw new Error(`${report.bytes} bytes in ${count}`);
    return [ms, turns.stop(), (used.user + used.system) / 1000];
  };
  const theirs = (): [ms: number, cpuMs: number] => {
    const start = performance.now();
    const script = 'tar cf - -C "$0" data | cat > /dev/null; times';
    const done = spawnSync("sh", ["-c", script, join(alloc.allocDirPath, "alloc")], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(done.stderr);
    const ms = performance.now() - start;
    // The second line is that of the programs: `0m0.02s 0m0.46s`.
    const times = [...(done.stdout.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
    return [
      ms,
      times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0),
    ];
  };
  await ours();
  const all: [number, number, number][] = [];
  const tar: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    all.push(await ours());
    if (isGnu) tar.push(theirs());
  }
  const name = `snapshot of ${files.toLocaleString("en-US")} files of ${bytes >= MIB ? `${bytes / MIB} MiB` : `${bytes / 1024} KiB`}`;
  // The best of each: two threads here and two programs there suffer differently from what the machine does beside.
  const best = (at: 0 | 1 | 2, from: readonly (readonly number[])[]): number =>
    Math.min(...from.map((one) => one[at]!));
  const rate = (time: number): number => (files * bytes) / 1e6 / (time / 1000);
  const ms = best(0, all);
  row(name, rate(ms), isGnu ? rate(best(0, tar)) : null, "MB/s", isGnu ? best(0, tar) / ms : null, goal);
  const cpu = best(2, all);
  row(`${name}: CPU`, cpu, isGnu ? best(1, tar) : null, "ms", isGnu ? cpu / best(1, tar) : null, "");
  row(`${name}: longest turn of the event loop`, Math.max(...all.map(([, turn]) => turn)), null, "ms", null, "≤ 20 ms");
  await alloc.destroy();
}

try {
  await measure("1", 100, 10 * MIB, "≥ 0.8×");
  await measure("2", 10_000, 1024, "≥ 0.25×");
} finally {
  rmSync(root, { recursive: true, force: true });
}
