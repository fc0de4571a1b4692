// Run in a package folder after its build: compares (or with --update rewrites) etc/<entry>.api.md for every entry point.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const update = process.argv.includes("--update");
const dir = process.cwd();
const name = basename(dir);
const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
mkdirSync("etc", { recursive: true });
let stale = false;
for (const [path, target] of Object.entries(exports)) {
  if (typeof target === "string") continue;
  const report = path === "." ? name : `${name}-${path.slice(2).replaceAll("/", "-")}`;
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: dir,
      mainEntryPointFilePath: resolve(target.types),
      compiler: { tsconfigFilePath: resolve("tsconfig.build.json") },
      apiReport: {
        enabled: true,
        reportFolder: resolve("etc"),
        reportTempFolder: resolve("temp"),
        reportFileName: `${report}.api.md`,
        reportVariants: ["complete"],
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      newlineKind: "lf",
      messages: {
        compilerMessageReporting: { default: { logLevel: "none" } },
        extractorMessageReporting: { default: { logLevel: "none" } },
        tsdocMessageReporting: { default: { logLevel: "none" } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(dir, "package.json"),
  });
  const fresh = !existsSync(`etc/${report}.api.md`);
  const result = Extractor.invoke(config, {
    localBuild: update,
    showVerboseMessages: false,
    messageCallback: (m) => (m.handled = m.logLevel !== "error"),
  });
  if (!update && (result.apiReportChanged || fresh)) {
    console.error(`etc/${report}.api.md is stale: run npm run api:update and read the difference`);
    stale = true;
  }
}
if (stale) process.exit(1);
