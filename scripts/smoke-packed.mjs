// Packs every public package, installs all tarballs together in an empty folder, then uses them as a stranger would:
// ESM import and require() of every export, first without the libraries of optional adapters; programs of test/consumer by their
// types and at run time, as ESM and as CommonJS; the README examples as printed; and the outrider command.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkConsumer, checkReadmes } from "./smoke-consumer.mjs";
import { pnpm } from "./pnpm.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "outrider-smoke-"));
const fail = (message) => {
  console.error(`smoke: ${message}`);
  rmSync(work, { recursive: true, force: true });
  process.exit(1);
};
const run = (command, args, options = {}) => {
  const done = spawnSync(command, args, { cwd: work, encoding: "utf8", maxBuffer: 1 << 26, ...options });
  if (done.status !== 0) fail(`${command} ${args.join(" ")} exited ${done.status}\n${done.stdout}\n${done.stderr}`);
  return done.stdout;
};

const packages = [];
for (const group of ["packages", "apps"]) {
  for (const name of readdirSync(join(root, group))) {
    const file = join(root, group, name, "package.json");
    if (!existsSync(file)) continue;
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    if (!manifest.private) packages.push({ dir: join(root, group, name), manifest });
  }
}
const tarballs = join(work, "tarballs");
mkdirSync(tarballs);
for (const { dir, manifest } of packages) {
  const packed = pnpm(["pack", "--pack-destination", tarballs], { cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
  if (packed.status !== 0) fail(`pack of ${manifest.name} failed`);
}
const files = readdirSync(tarballs).map((name) => join(tarballs, name));
const fileOf = (name, version) =>
  files.find((f) => f.endsWith(`/${name.replace("@", "").replace("/", "-")}-${version}.tgz`)) ??
  fail(`no tarball of ${name}`);
const dependencies = Object.fromEntries(
  packages.map(({ manifest: m }) => [m.name, `file:${fileOf(m.name, m.version)}`]),
);
writeFileSync(
  join(work, "package.json"),
  JSON.stringify({
    name: "consumer",
    private: true,
    version: "1.0.0",
    dependencies,
    overrides: { "light-my-request": { cookie: "^1.0.2" } },
  }),
);
const INSTALL = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
run("npm", INSTALL);

// Optional peers are the consumer's business: their adapters are loaded only where the peer is installed.
const peers = (m) => Object.keys(m.peerDependencies ?? {});
const specifiers = packages.flatMap(({ manifest: m }) =>
  Object.entries(m.exports)
    .filter(
      ([path, target]) =>
        typeof target !== "string" && !peers(m).some((p) => p.includes(path.slice(2)) && path !== "."),
    )
    .map(([path]) => (path === "." ? m.name : `${m.name}${path.slice(1)}`)),
);
const list = JSON.stringify(specifiers);
const esm = JSON.parse(
  run(process.execPath, [
    "--input-type=module",
    "-e",
    `const out={};for(const s of ${list}){out[s]=Object.keys(await import(s)).sort()}console.log(JSON.stringify(out))`,
  ]),
);
const cjs = JSON.parse(
  run(process.execPath, [
    "-e",
    `const out={};for(const s of ${list}){out[s]=Object.keys(require(s)).filter(k=>k!=="__esModule").sort()}console.log(JSON.stringify(out))`,
  ]),
);
for (const s of specifiers)
  if (JSON.stringify(esm[s]) !== JSON.stringify(cjs[s])) fail(`${s}: require() and import give different exports`);

// The libraries of the adapters, in the versions that the adapters are tested with.
const libraries = new Map(
  packages.flatMap(({ manifest: m }) => peers(m).map((name) => [name, m.devDependencies?.[name] ?? "latest"])),
);
run("npm", [...INSTALL, ...[...libraries].map(([name, version]) => `${name}@${version}`)]);
const every = packages.flatMap(({ manifest: m }) =>
  Object.entries(m.exports)
    .filter(([, target]) => typeof target !== "string")
    .map(([path]) => (path === "." ? m.name : `${m.name}${path.slice(1)}`)),
);
const compiled = checkConsumer({ root, work, run, fail, specifiers: every });
const examples = checkReadmes({ root, work, run, fail, packages });

if (packages.some(({ manifest }) => manifest.name === "outrider")) {
  const version = run(join(work, "node_modules/.bin/outrider"), ["version"]);
  if (!/^Outrider v\d+\.\d+\.\d+/.test(version)) fail(`outrider version printed ${JSON.stringify(version)}`);
}
rmSync(work, { recursive: true, force: true });
console.log(
  `smoke: ${packages.length} tarballs installed, ${every.length} entry points imported, required and typed; ` +
    `${compiled} programs compiled and run, ${examples} README examples print what they say`,
);
