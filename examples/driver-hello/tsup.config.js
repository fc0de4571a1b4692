import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { defineConfig } from "tsup";

/** One executable file without an extension: Node runs such a file as CommonJS. */
export default defineConfig({
  entry: { "outrider-driver-hello": "src/driver-hello.ts" },
  format: ["cjs"],
  target: "node20",
  platform: "node",
  noExternal: [/.*/],
  clean: true,
  banner: { js: "#!/usr/bin/env node" },
  onSuccess: async () => {
    // The folder above says "module"; a plugin folder says nothing.
    writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
    renameSync("dist/outrider-driver-hello.cjs", "dist/outrider-driver-hello");
    chmodSync("dist/outrider-driver-hello", 0o755);
  },
});
