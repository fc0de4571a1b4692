// What smoke-packed.mjs checks in the folder of a stranger who installed the tarballs.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How strangers compile. `.cts` that require() an ES module need nodenext: node16 stands for a Node that could not. */
const KINDS = [
  { name: "nodenext-esm", extension: "mts", module: "nodenext" },
  { name: "nodenext-cjs", extension: "cts", module: "nodenext" },
  { name: "node16-esm", extension: "mts", module: "node16" },
  { name: "bundler", extension: "mts", module: "esnext", moduleResolution: "bundler" },
];

function compile({ root, run }, folder, { module, moduleResolution = module }) {
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "ES2022",
        lib: ["ES2023"],
        module,
        moduleResolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        outDir: "out",
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
      },
      include: ["*.mts", "*.cts"],
    }),
  );
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]);
}

/** Compiles the programs of test/consumer against the installed packages in every way, and runs what came out. */
export function checkConsumer({ root, work, run, fail, specifiers }) {
  const programs = readdirSync(join(root, "test/consumer")).filter((name) => name.endsWith(".mts"));
  for (const kind of KINDS) {
    const folder = join(work, kind.name);
    mkdirSync(folder);
    for (const name of programs) {
      const text = readFileSync(join(root, "test/consumer", name), "utf8");
      const script = kind.extension.replace("ts", "js");
      writeFileSync(
        join(folder, name.replace(/mts$/, kind.extension)),
        text.replace(/(from "\.\/[\w-]+)\.mjs"/g, `$1.${script}"`),
      );
    }
    const all = specifiers.map((s, i) => `import * as m${i} from "${s}";\nexport const k${i}: object = m${i};`);
    writeFileSync(join(folder, `all.${kind.extension}`), `${all.join("\n")}\n`);
    compile({ root, run }, folder, kind);
    const out = run(process.execPath, [join(folder, "out", `main.${kind.extension.replace("ts", "js")}`)]);
    if (out !== "every user is content\n") fail(`${kind.name}: the programs printed ${out}`);
  }
  return programs.length * KINDS.length;
}

/** What a README says that its example prints: the text block behind it, or the remarks behind its prints (empty lines left out). */
function promised(readme) {
  const [, code] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  if (code === undefined) return undefined;
  const [, block] = /```ts\n[^]*?```\n+prints\n+```text\n([^]*?)```/.exec(readme) ?? [];
  const remarks = [...code.matchAll(/\/\/ prints: (.*)|console\.log\(.*\); \/\/ (?:prints: )?(.*)/g)].map(
    (m) => m[1] ?? m[2],
  );
  const output = block ?? (remarks.length > 0 ? `${remarks.join("\n")}\n` : undefined);
  return output === undefined ? undefined : { code, output };
}

/** Compiles and runs the README examples that promise an output. */
export function checkReadmes({ root, work, run, fail, packages }) {
  const folder = join(work, "readmes");
  mkdirSync(folder);
  const examples = packages.flatMap(({ dir, manifest }) => {
    const found = promised(readFileSync(join(dir, "README.md"), "utf8"));
    return found ? [{ name: manifest.name.replace("@outrider/", ""), ...found }] : [];
  });
  for (const { name, code } of examples) writeFileSync(join(folder, `${name}.mts`), `${code}export {};\n`);
  compile({ root, run }, folder, { module: "nodenext" });
  for (const { name, output } of examples) {
    const printed = run(process.execPath, [join(folder, "out", `${name}.mjs`)]);
    const lines = (text) => text.replace(/\n{2,}/g, "\n");
    if (lines(printed) !== lines(output))
      fail(`the README of ${name} promises\n${output}but its example prints\n${printed}`);
  }
  return examples.length;
}
