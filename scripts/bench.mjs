// npm run bench [-- <package> ...] [-- --nomad <binary>]: every bench file in a fresh process, ours and the peer in the same
// run; prints a table. `--update` writes it to docs/benchmarks.md together with machine, command and date.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
const update = args.includes("--update");
const nomadAt = args.indexOf("--nomad");
const nomad = nomadAt >= 0 ? args[nomadAt + 1] : undefined;
const wanted = args.filter((a, i) => !a.startsWith("--") && (nomadAt < 0 || i !== nomadAt + 1));

const files = [];
for (const group of ["packages", "apps"]) {
  for (const name of readdirSync(join(root, group))) {
    const dir = join(root, group, name, "bench");
    if (!existsSync(dir) || (wanted.length > 0 && !wanted.includes(name))) continue;
    for (const file of readdirSync(dir)) if (file.endsWith(".bench.ts")) files.push(join(dir, file));
  }
}
const rows = [];
let failed = false;
for (const file of files) {
  process.stderr.write(`${file.slice(root.length)}\n`);
  const done = spawnSync(process.execPath, ["--expose-gc", "--import", "tsx", "--conditions=@outrider/source", file], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 1 << 28,
    env: { ...process.env, ...(nomad ? { NOMAD_BIN: nomad } : {}) },
  });
  if (done.status !== 0) failed = true;
  for (const line of done.stdout.split("\n")) {
    if (line.startsWith("{")) rows.push(JSON.parse(line));
    else if (line.trim() !== "") process.stderr.write(`  ${line}\n`);
  }
}
const number = (n) =>
  n === null || n === undefined
    ? "–"
    : Math.abs(n) >= 100
      ? Math.round(n).toLocaleString("en-US")
      : Number(n.toPrecision(3)).toString();
const today = new Date().toISOString().slice(0, 10);
const lines = rows.map(
  (r) =>
    `| ${r.package} | ${r.case} | ${number(r.ours)} | ${r.peer ?? "–"} | ${number(r.theirs)} | ${r.unit} | ${r.ratio === undefined || r.ratio === null ? "–" : number(r.ratio)} | ${r.goal ?? ""} | ${today} |`,
);
const head = [
  "| package | case | ours | peer | theirs | unit | ratio | goal | measured |",
  "|---|---|---:|---|---:|---|---:|---|---|",
];
console.log([...head, ...lines].join("\n"));
if (update) {
  const page = join(root, "docs/benchmarks.md");
  const start = "<!-- table:start -->";
  const end = "<!-- table:end -->";
  const text = readFileSync(page, "utf8");
  const from = text.indexOf(start) + start.length;
  const to = text.indexOf(end);
  const nameOf = (line) => line.split("|")[1]?.trim();
  const measured = new Set(lines.map(nameOf));
  // Packages that were not measured this time keep the rows of the day when they were.
  const kept = text
    .slice(from, to)
    .split("\n")
    .filter((line) => line.startsWith("| ") && nameOf(line) !== "package" && !measured.has(nameOf(line)));
  const all = [...kept, ...lines].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
  const about = `Machine: ${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}. Command: \`npm run bench -- --nomad <binary> --update\`, also with the name of one package.`;
  writeFileSync(page, `${text.slice(0, from)}\n${about}\n\n${[...head, ...all].join("\n")}\n${text.slice(to)}`);
}
process.exit(failed ? 1 : 0);
