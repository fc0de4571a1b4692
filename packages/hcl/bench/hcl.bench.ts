/**
 * Parsing of 40 job files against `@cdktn/hcl2json` in the same process, and start time and memory in fresh processes.
 * Run: node --import tsx --conditions=@outrider/source packages/hcl/bench/hcl.bench.ts
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { evaluate, parse, stdlib } from "../src/index.ts";
import type { Body } from "../src/index.ts";

const PEER = "@cdktn/hcl2json 0.24.0";
const require = createRequire(import.meta.url);
const oracle = require("@cdktn/hcl2json") as {
  parse(filename: string, text: string): Promise<unknown>;
};
const folder = new URL("../test/fixtures/jobs/", import.meta.url);
const names = readdirSync(folder).sort().slice(0, 40);
const texts = names.map((name) => readFileSync(new URL(name, folder), "utf8"));

const print = (name: string, ours: number, theirs: number, unit: string, goal: string): void => {
  const digits = (n: number): number => Number(n.toPrecision(4));
  console.log(
    JSON.stringify({
      package: "hcl",
      case: name,
      ours: digits(ours),
      peer: PEER,
      theirs: digits(theirs),
      unit,
      ratio: digits(ours / theirs),
      goal,
    }),
  );
};

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] as number;

/** Median milliseconds of one pass over all files, the two sides taking turns. */
const compare = async (ours: () => void, rounds: number): Promise<[number, number]> => {
  const mine: number[] = [];
  const theirs: number[] = [];
  for (let i = -3; i < rounds; i++) {
    const a = performance.now();
    ours();
    const b = performance.now();
    for (const text of texts) await oracle.parse("f.hcl", text);
    const c = performance.now();
    if (i < 0) continue;
    mine.push(b - a);
    theirs.push(c - b);
  }
  return [median(mine), median(theirs)];
};

const evaluateAll = (body: Body): void => {
  for (const a of body.attributes) evaluate(a.expression, { functions: stdlib, unknownTraversal: "keep-text" });
  for (const b of body.blocks) evaluateAll(b.body);
};

const FRESH_RUNS = 9;
/** A young generation of fixed size: its first doubling by 1 MB falls to whoever allocates at that moment, which is luck. */
const FIXED_HEAP = "--min-semi-space-size=16";

/** What importing and a first parse cost in fresh processes: the least time (a busy machine only adds to it) and the median memory. */
const fresh = (side: "ours" | "peer", target: string): { ms: number; mb: number } => {
  const script = fileURLToPath(new URL("fresh.mjs", import.meta.url));
  const file = fileURLToPath(new URL(names[0] as string, folder));
  const runs = Array.from({ length: FRESH_RUNS }, () => {
    const result = spawnSync(process.execPath, [FIXED_HEAP, script, side, target, file], { encoding: "utf8" });
    if (result.status !== 0) throw new Error(result.stderr);
    return JSON.parse(result.stdout) as { ms: number; mb: number };
  });
  return { ms: Math.min(...runs.map((r) => r.ms)), mb: median(runs.map((r) => r.mb)) };
};

const built = fileURLToPath(new URL("../dist/index.js", import.meta.url));

const [parseOurs, parseTheirs] = await compare(() => {
  for (const text of texts) parse(text);
}, 25);
print("parse 40 job files, warm", parseOurs, parseTheirs, "ms", "≥ 5× faster");

const [allOurs, allTheirs] = await compare(() => {
  for (const text of texts) evaluateAll(parse(text).body);
}, 25);
print("parse and evaluate 40 job files, warm", allOurs, allTheirs, "ms", "≥ 5× faster");

if (existsSync(built)) {
  const ours = fresh("ours", built);
  const theirs = fresh("peer", "@cdktn/hcl2json");
  print("import and first parse, fresh process", ours.ms, theirs.ms, "ms", "≤ 10 ms");
  print("memory of import and first parse, fresh process", ours.mb, theirs.mb, "MB", "≤ 2 MB");
} else console.error("packages/hcl/dist is missing: build first to measure start time and memory");
