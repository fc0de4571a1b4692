import { defineProject } from "vitest/config";

/** The one vitest project of every package: unit tests read sources, never a build. */
export const project = (name, more = {}) =>
  defineProject({
    ssr: { resolve: { conditions: ["@outrider/source", "node", "development|production"] } },
    resolve: { conditions: ["@outrider/source", "node", "development|production"] },
    test: {
      name,
      include: ["test/**/*.test.ts"],
      // For a busy machine only: no unit test waits for real time.
      testTimeout: 30_000,
      exclude: ["**/node_modules/**", "test/**/*.e2e.test.ts"],
      ...more,
    },
  });
