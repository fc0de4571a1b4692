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
const table = [
  "| package | case | ours | peer | theirs | unit | ratio | goal |",
  "|---|---|---:|---|---:|---|---:|---|",
  ...rows.map(
    (r) =>
      `| ${r.package} | ${r.case} | ${number(r.ours)} | ${r.peer ?? "–"} | ${number(r.theirs)} | ${r.unit} | ${r.ratio === undefined || r.ratio === null ? "–" : number(r.ratio)} | ${r.goal ?? ""} |`,
  ),
].join("\n");
console.log(table);
if (update) {
  const page = join(root, "docs/benchmarks.md");
  const head = "<!-- table:start -->";
  const tail = "<!-- table:end -->";
  const text = readFileSync(page, "utf8");
  const about = `Machine: ${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}. Command: \`npm run bench${nomad ? " -- --nomad <binary>" : ""}\`. Date: ${new Date().toISOString().slice(0, 10)}.`;
  writeFileSync(
    page,
    `${text.slice(0, text.indexOf(head) + head.length)}\n${about}\n\n${table}\n${text.slice(text.indexOf(tail))}`,
  );
}
process.exit(failed ? 1 : 0);
