import { chmodSync, writeFileSync } from "node:fs";
import { defineConfig } from "tsup";

/** One executable file without an extension: Node runs such a file as CommonJS. */
export default defineConfig({
  entry: { "outrider-driver-hello": "src/driver-hello.ts" },
  format: ["cjs"],
  target: "node20",
  platform: "node",
  noExternal: [/.*/],
  clean: true,
  outExtension: () => ({ js: "" }),
  banner: { js: "#!/usr/bin/env node" },
  onSuccess: async () => {
    // The folder above says "module"; a plugin folder says nothing.
    writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
    chmodSync("dist/outrider-driver-hello", 0o755);
  },
});
