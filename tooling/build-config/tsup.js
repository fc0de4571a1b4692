import { defineConfig } from "tsup";

/**
 * The one build of every package: ESM, Node 20, declarations.
 * @param {Record<string, string>} entry output name to source file
 * @param {import("tsup").Options} [more]
 */
export function library(entry, more = {}) {
  return defineConfig({
    entry,
    format: ["esm"],
    target: "node20",
    platform: "node",
    dts: true,
    clean: true,
    splitting: true,
    sourcemap: false,
    removeNodeProtocol: false,
    tsconfig: "tsconfig.build.json",
    ...more,
  });
}
