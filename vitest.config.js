import { existsSync, readdirSync } from "node:fs";
import { defineConfig } from "vitest/config";

const gated = readdirSync("packages").filter((name) => existsSync(`packages/${name}/src`));
const full = new Set(["backoff", "cron-schedule", "hook-resources"]);
const thresholds = Object.fromEntries(
  gated.map((name) => {
    const pct = full.has(name) ? 100 : 95;
    return [`packages/${name}/src/**`, { lines: pct, branches: pct, functions: pct, statements: pct }];
  }),
);

export default defineConfig({
  test: {
    projects: [
      "packages/*",
      "apps/*",
      "examples/*/vitest.config.js",
      { test: { name: "repo", include: ["test/repo/**/*.test.ts"] } },
    ],
    reporters: ["default", "./tooling/build-config/summary-reporter.js"],
    passWithNoTests: false,
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts", "apps/*/src/**/*.ts"],
      exclude: ["**/gen/**"],
      reporter: ["text-summary", "json-summary"],
      thresholds,
    },
  },
});
