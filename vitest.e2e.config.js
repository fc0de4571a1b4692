import { defineConfig } from "vitest/config";

/** Real processes, sockets and browsers: run after a build, one file at a time. */
export default defineConfig({
  test: {
    name: "e2e",
    include: [
      "packages/*/test/**/*.e2e.test.ts",
      "apps/*/test/**/*.e2e.test.ts",
      "examples/*/test/**/*.e2e.test.ts",
      "test/e2e/**/*.e2e.test.ts",
    ],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["default", "./tooling/build-config/summary-reporter.js"],
  },
});
