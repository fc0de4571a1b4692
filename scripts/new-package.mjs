// node scripts/new-package.mjs <name> <layer 0|1|2> "<description>" [subpath ...]
// Lays the frame of a package: everything but its sources, tests and README body.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [name, layer, description, ...subpaths] = process.argv.slice(2);
if (!name || !["0", "1", "2"].includes(layer) || !description) {
  console.error('usage: node scripts/new-package.mjs <name> <layer> "<description>" [subpath ...]');
  process.exit(2);
}
const dir = join("packages", name);
if (existsSync(join(dir, "package.json"))) {
  console.error(`${dir} exists already`);
  process.exit(1);
}
for (const sub of ["src", "test", "etc"]) mkdirSync(join(dir, sub), { recursive: true });
const exported = (source) =>
  Object.fromEntries(
    ["index", ...subpaths].map((entry) => [
      entry === "index" ? "." : `./${entry}`,
      {
        ...(source ? { "@outrider/source": entry === "index" ? "./src/index.ts" : `./src/${entry}/index.ts` } : {}),
        types: `./dist/${entry}.d.ts`,
        default: `./dist/${entry}.js`,
      },
    ]),
  );
const json = (file, value) => writeFileSync(join(dir, file), `${JSON.stringify(value, null, 2)}\n`);
json("package.json", {
  name: `@outrider/${name}`,
  version: "0.0.0",
  description,
  keywords: ["outrider"],
  license: "MIT",
  type: "module",
  sideEffects: false,
  engines: { node: ">=20.19.0" },
  files: ["dist", "CHANGELOG.md"],
  exports: { ...exported(true), "./package.json": "./package.json" },
  publishConfig: { access: "public", exports: { ...exported(false), "./package.json": "./package.json" } },
  scripts: {
    build: "tsup",
    "build:js": "tsup --no-dts",
    "pack:check": "node ../../scripts/pack-check.mjs",
    api: "node ../../scripts/api-report.mjs",
    "api:update": "node ../../scripts/api-report.mjs --update",
  },
  devDependencies: {
    "@outrider/build-config": "workspace:^",
    "@types/node": "catalog:",
    "fast-check": "catalog:",
    tsup: "catalog:",
    typescript: "catalog:",
    vitest: "catalog:",
  },
});
json("tsconfig.json", { extends: "../../tsconfig.base.json", include: ["src", "test"] });
json("tsconfig.build.json", {
  extends: "../../tsconfig.base.json",
  compilerOptions: { customConditions: [], rootDir: "src" },
  include: ["src"],
});
json("turbo.json", { extends: ["//"], tags: [`l${layer}`] });
const entries = ["index", ...subpaths]
  .map(
    (entry) =>
      `  ${JSON.stringify(entry)}: ${JSON.stringify(entry === "index" ? "src/index.ts" : `src/${entry}/index.ts`)},`,
  )
  .join("\n");
writeFileSync(
  join(dir, "tsup.config.js"),
  `import { library } from "@outrider/build-config/tsup";\n\nexport default library({\n${entries}\n});\n`,
);
writeFileSync(
  join(dir, "vitest.config.js"),
  `import { project } from "@outrider/build-config/vitest";\n\nexport default project("${name}");\n`,
);
writeFileSync(join(dir, "CHANGELOG.md"), `# @outrider/${name}\n`);
copyFileSync("LICENSE", join(dir, "LICENSE"));
