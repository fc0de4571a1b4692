// Stryker test runner of scripts/mutation.mjs: Stryker's own runner of vitest, for which a test file that cannot be loaded is
// a failed run too. Without a mutant that stops the measurement with the file's error; with one the mutant is noticed.
import { withFailuresOutsideTests } from "./mutation-failures.mjs";

const runner =
  "../node_modules/.cache/mutation/tool/node_modules/@stryker-mutator/vitest-runner/dist/src/vitest-test-runner.js";
const { createVitestTestRunnerFactory } = await import(new URL(runner, import.meta.url).href);
const inner = createVitestTestRunnerFactory();

function create(injector) {
  const made = inner(injector);
  const run = made.run.bind(made);
  made.run = async (options) => withFailuresOutsideTests(await run(options), made.ctx.state.getFiles(), process.cwd());
  return made;
}
create.inject = inner.inject;

export const strykerPlugins = [{ kind: "TestRunner", name: "vitest-files", factory: create }];
