// What fails in a run of vitest without being a test: a file that does not load, a hook around tests that throws. Stryker's
// runner of vitest counts tests only, so such a run would be "all passed" to it; scripts/mutation-runner.mjs mends that.
import { relative, sep } from "node:path";

/** Stryker's TestStatus.Failed. */
const FAILED = 1;

/** Failures that belong to no test, of the files as vitest's state holds them; paths are told relative to the folder. */
export function failuresOutsideTests(files, folder) {
  const found = [];
  const visit = (task, file, name) => {
    const [error] = task.result?.errors ?? [];
    if (task.type !== "suite") return;
    if (task.result?.state === "fail" && error !== undefined) {
      found.push({ file, name, message: error.message ?? String(error) });
    }
    for (const inner of task.tasks) visit(inner, file, `${name} > ${inner.name}`);
  };
  for (const file of files) {
    const path = relative(folder, file.filepath).split(sep).join("/");
    visit(file, path, path);
  }
  return found;
}

/** The result of a run with each of those failures as one failed test more; unchanged when a test failed anyway. */
export function withFailuresOutsideTests(result, files, folder) {
  const tests = result.tests ?? [];
  if (tests.some(({ status }) => status === FAILED)) return result;
  const failed = failuresOutsideTests(files, folder).map(({ file, name, message }) => ({
    id: `${file}#`,
    name: `${name} (the file or a hook of it, not a test)`,
    timeSpentMs: 0,
    status: FAILED,
    failureMessage: message,
  }));
  return failed.length === 0 ? result : { status: "complete", tests: [...tests, ...failed] };
}
