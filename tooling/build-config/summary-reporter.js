/** Prints the plain closing line `N passed, N failed[, N skipped]`; a run without tests fails. */
export default class SummaryReporter {
  onTestRunEnd(modules, errors) {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++;
      if (module.errors().length > 0) count.failed++;
    }
    count.failed += errors.length;
    if (count.passed + count.failed === 0) {
      console.error("no test ran");
      process.exitCode = 1;
    }
    this.line = `${count.passed} passed, ${count.failed} failed${count.skipped ? `, ${count.skipped} skipped` : ""}`;
    process.once("exit", () => console.log(this.line));
  }
}
