/** Runs the suite on a copy of the sources that has one fault: `try-mutant.ts <id> <empty folder>`; prints which case noticed it. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type * as Suite from "../../src/conformance/index.ts";
import { MUTANTS } from "./mutants.ts";
import type * as Subjects from "./subjects.ts";

const HERE = join(import.meta.dirname, "../..");

const mutant = MUTANTS.find(({ id }) => id === process.argv[2]);
if (mutant === undefined) throw new Error(`no mutant is called ${process.argv[2]}`);
const [copy = ""] = process.argv.slice(3);
cpSync(join(HERE, "src"), join(copy, "src"), { recursive: true });
cpSync(join(HERE, "test/conformance/subjects.ts"), join(copy, "test/conformance/subjects.ts"));
mkdirSync(join(copy, "node_modules"));
symlinkSync(join(HERE, "node_modules/@outrider"), join(copy, "node_modules/@outrider"));
// The thread that makes snapshots loads its source by the same loader.
symlinkSync(join(HERE, "../../node_modules/tsx"), join(copy, "node_modules/tsx"));
writeFileSync(join(copy, "package.json"), '{"type":"module"}');
const file = join(copy, "src", mutant.file);
const text = readFileSync(file, "utf8");
if (text.split(mutant.find).length !== 2)
  throw new Error(`${mutant.id}: its text does not stand once in ${mutant.file}`);
writeFileSync(
  file,
  text.replace(mutant.find, () => mutant.replace),
);

const { runAllocDirConformance, CONFORMANCE_CASES } = (await import(
  join(copy, "src/conformance/index.ts")
)) as typeof Suite;
const { othersOf, SUBJECTS } = (await import(join(copy, "test/conformance/subjects.ts"))) as typeof Subjects;
const subject = SUBJECTS.find(({ name }) => name === mutant.subject);
if (subject === undefined) throw new Error(`no implementation is called ${mutant.subject}`);
const groups = mutant.first.split(" ");
const isFirst = (id: string): boolean => groups.includes(id.slice(0, id.indexOf("/")));
const only = [...CONFORMANCE_CASES.filter(isFirst), ...CONFORMANCE_CASES.filter((id) => !isFirst(id))];
const report = await runAllocDirConformance(subject, { others: othersOf(subject), only, bail: true });
const failed = report.cases.find(({ result }) => result === "failed");
process.stdout.write(`${JSON.stringify({ id: mutant.id, by: failed?.id, reason: failed?.reason?.split("\n")[0] })}\n`);
// What the fault left behind must not keep the process.
process.exit(0);
