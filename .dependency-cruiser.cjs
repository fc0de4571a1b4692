// Layers come from layers.json; a package of layer i may not reach layers >= i (docs/architecture.md).
const { layers } = require("./layers.json");
const rules = layers.map((names, i) => ({
  name: `layer-${i}-imports-downward-only`,
  severity: "error",
  from: { path: `^packages/(${names.join("|")})/src/` },
  to: {
    path: `^packages/(${layers.slice(i).flat().join("|")})/`,
    pathNot: "^packages/$1/",
  },
}));
module.exports = {
  forbidden: [
    ...rules,
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    { name: "packages-never-import-apps", severity: "error", from: { path: "^packages/" }, to: { path: "^apps/" } },
    { name: "src-never-imports-test", severity: "error", from: { path: "/src/" }, to: { path: "/(test|bench)/" } },
    {
      name: "no-relative-import-across-packages",
      severity: "error",
      from: { path: "^(packages|apps)/([^/]+)/" },
      to: { dependencyTypes: ["local"], path: "^(packages|apps)/", pathNot: "^$1/$2/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(/dist/|/fixtures/|/coverage/|\\.outrider/)" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@outrider/source", "import", "node", "default", "types"],
    },
  },
};
