import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { defineConfig } from "tsup";

/**
 * A driver plugin as one executable file without an extension, which Node runs as CommonJS.
 * @param {string} name of the file, and of the `plugin` block in an agent's configuration
 * @param {string} entry source file
 * @param {{ outDir?: string }} [options]
 */
export function pluginExecutable(name, entry, { outDir = "dist" } = {}) {
  return defineConfig({
    entry: { [name]: entry },
    format: ["cjs"],
    target: "node20",
    platform: "node",
    outDir,
    // all but what `external` names, over which this would win
    noExternal: [/^(?!(?:@peculiar\/x509|reflect-metadata|koffi)$)/],
    esbuildOptions: (options) => {
      // sources where the workspace has them: what is not used is then left out
      options.conditions = ["@outrider/source"];
      // CommonJS has no such thing; what is found beside the file is looked for by its name
      options.define = { ...options.define, "import.meta.url": "__filename" };
    },
    // Needed by AutoMTLS alone, which no Nomad asks for, and a native addition: found where the plugin lies, or done without.
    external: ["@peculiar/x509", "reflect-metadata", "koffi"],
    // Every byte is read at each of the three starts that an agent makes.
    minify: true,
    clean: true,
    // The file's first line can carry no options for Node on every system; a plugin lives long and computes little.
    banner: { js: '#!/usr/bin/env node\n"use strict";require("node:v8").setFlagsFromString("--optimize-for-size");' },
    esbuildPlugins: [withoutProtoFiles],
    onSuccess: async () => {
      // The folder above says "module"; a plugin folder says nothing.
      writeFileSync(`${outDir}/package.json`, '{ "type": "commonjs" }\n');
      renameSync(`${outDir}/${name}.cjs`, `${outDir}/${name}`);
      chmodSync(`${outDir}/${name}`, 0o755);
    },
  });
}

/** grpc-js reads .proto files for services that a plugin does not have; their reader is a quarter of the bundle. */
const withoutProtoFiles = {
  name: "without-proto-files",
  setup(build) {
    build.onResolve({ filter: /^@grpc\/proto-loader$/ }, ({ path }) => ({ path, namespace: "without-proto-files" }));
    build.onLoad({ filter: /.*/, namespace: "without-proto-files" }, () => ({
      contents: 'exports.loadSync = () => { throw new Error("this bundle reads no .proto files"); };',
      loader: "js",
    }));
  },
};
