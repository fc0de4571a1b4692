// Compares this parser with the official one (WebAssembly build, a development dependency) on the job files and their
// mutants. Run from anywhere: node --import tsx --conditions=@outrider/source packages/hcl/scripts/differential.mjs [mutants] [seed]
import { compare, compareMutants, jobFiles, summary } from "../test/differential.ts";

const count = Number(process.argv[2] ?? 2000);
const seed = Number(process.argv[3] ?? 1);
let failed = false;

for (const { name, text } of jobFiles()) {
  const result = await compare(text);
  if (result.kind === "same") continue;
  failed = true;
  console.error(`${name}: ${result.kind} ${result.detail}`);
}

const all = await compareMutants(count, seed);
const s = summary(all);
for (const c of all) {
  const shown = c.kind !== "same" && (c.kind !== "column" || process.env.SHOW_COLUMNS === "1");
  if (shown) console.error(`--- ${c.kind}: ${c.detail}${process.env.SHOW_TEXT === "1" ? `\n${c.text}` : ""}`);
}
console.log(JSON.stringify({ files: jobFiles().length, seed, ...s }));
if (s.acceptance < 0.997 || s.line < 0.98 || s.values > 0) failed = true;
process.exit(failed ? 1 : 0);
