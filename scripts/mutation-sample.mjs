// Stryker checker of scripts/mutation.mjs: lets through a seeded part of the mutants and refuses the rest, so that they
// count neither as killed nor as survived. The choice depends on the mutant alone, never on order, time or machine.
import { createHash } from "node:crypto";
import { relative } from "node:path";

/** The number in [0, 1) that decides about a mutant: it is in the sample when the number is below the wanted part. */
function place({ fileName, mutatorName, replacement, location: { start, end } }) {
  const file = relative(process.cwd(), fileName);
  const key = `${process.env.OUTRIDER_MUTATION_SEED ?? 1}|${file}|${mutatorName}|${replacement}|${start.line}:${start.column}-${end.line}:${end.column}`;
  return createHash("sha256").update(key).digest().readUInt32BE(0) / 2 ** 32;
}

class SampleChecker {
  static inject = [];
  async init() {}
  async group(mutants) {
    return mutants.length === 0 ? [] : [mutants.map((m) => m.id)];
  }
  async check(mutants) {
    const part = Number(process.env.OUTRIDER_MUTATION_PART ?? 1);
    const answer = (m) =>
      place(m) < part ? { status: "passed" } : { status: "compileError", reason: "not in the sample" };
    return Object.fromEntries(mutants.map((m) => [m.id, answer(m)]));
  }
}

export const strykerPlugins = [{ kind: "Checker", name: "sample", injectableClass: SampleChecker }];
