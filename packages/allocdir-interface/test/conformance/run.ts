/** Runs the suite without a test runner: `run.ts <implementation> [case …]`, and prints its report as JSON. */
import { runAllocDirConformance } from "../../src/conformance/index.ts";
import { othersOf, SUBJECTS } from "./subjects.ts";

const [name = "", ...only] = process.argv.slice(2);
const subject = SUBJECTS.find((one) => one.name === name);
if (subject === undefined) throw new Error(`no implementation is called ${name}`);

const report = await runAllocDirConformance(subject, {
  others: othersOf(subject, true),
  ...(only.length > 0 ? { only } : {}),
});
process.stdout.write(`${JSON.stringify(report)}\n`);
