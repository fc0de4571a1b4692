// Puts known faults into the implementations, one at a time, and tells which case of the conformance suite notices each. Fails below 95 %.
import { reachable, runMutants } from "../test/conformance/run-mutants.ts";

const GOAL = 0.95;

const wanted = process.argv.slice(2);
const mutants = reachable().filter(({ id }) => wanted.length === 0 || wanted.includes(id));
const results = await runMutants(mutants, ({ id, by, reason = "" }) =>
  console.log(`${id}: ${by ?? "NOT NOTICED"} ${reason}`.trim()),
);
const noticed = results.filter(({ by }) => by !== undefined).length;
console.log(`${noticed} of ${results.length} faults are noticed (${((100 * noticed) / results.length).toFixed(1)} %)`);
process.exitCode = noticed >= GOAL * results.length ? 0 : 1;
