import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { defineConfig } from "tsup";

/**
 * A driver plugin as one executable file without an extension, which Node runs as CommonJS.
 * @param {string} name of the file, and of the `plugin` block in an agent's configuration
 * @param {string} entry source file
 */
export function pluginExecutable(name, entry) {
  return defineConfig({
    entry: { [name]: entry },
    format: ["cjs"],
    target: "node20",
    platform: "node",
    noExternal: [/.*/],
    // Needed by AutoMTLS alone, which no Nomad asks for: found where the plugin lies, or a clear error.
    external: ["@peculiar/x509", "reflect-metadata"],
    // Every byte is read at each of the three starts that an agent makes.
    minify: true,
    clean: true,
    banner: { js: "#!/usr/bin/env node" },
    esbuildPlugins: [withoutProtoFiles],
    onSuccess: async () => {
      // The folder above says "module"; a plugin folder says nothing.
      writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
      renameSync(`dist/${name}.cjs`, `dist/${name}`);
      chmodSync(`dist/${name}`, 0o755);
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
