import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  canonicalizeJob,
  formatDiagnostics,
  parseJobFile,
  refuseUnsupported,
  validateJob,
} from "../src/jobspec/index.ts";

const bad = fileURLToPath(new URL("fixtures/jobspec/bad/", import.meta.url));

interface Outcome {
  readonly exit_code: number;
  readonly stderr: string;
}

interface Entry {
  readonly file: string;
  readonly args: readonly string[];
  readonly run_output: Outcome;
  readonly validate: Outcome;
}

const expected = JSON.parse(readFileSync(join(bad, "expected.json"), "utf8")) as Entry[];

/** Where we differ from stock 2.0.5 on purpose. */
const DIFFERENT: Readonly<Record<string, { readonly accepted: boolean; readonly reason: string }>> = {
  "v-schedule.nomad.hcl": { accepted: true, reason: "time windows are what this client is for" },
  "v-task-name-dotdot.nomad.hcl": { accepted: false, reason: 'a task named ".." works on the folder above' },
  "v-affinity-weight.nomad.hcl": { accepted: false, reason: "stock stores the weight 500 as −12" },
  "v-kill-signal-bad.nomad.hcl": { accepted: false, reason: "stock sends SIGINT for a signal that does not exist" },
};

/** Stock reports either of two places for this file, from run to run. */
const EITHER: Readonly<Record<string, readonly string[]>> = { "local-cycle.nomad.hcl": ["2,12", "3,12"] };

function parse(entry: Entry): ReturnType<typeof parseJobFile> {
  const vars: Record<string, string> = {};
  const varFiles: string[] = [];
  for (let i = 0; i < entry.args.length; i += 2) {
    const value = entry.args[i + 1] as string;
    if (entry.args[i] === "-var-file") varFiles.push(value);
    else vars[value.slice(0, value.indexOf("="))] = value.slice(value.indexOf("=") + 1);
  }
  return parseJobFile(readFileSync(join(bad, entry.file)), { filename: entry.file, cwd: bad, vars, varFiles });
}

/** Line and column of the first diagnostic that stock printed; undefined when it named no place. */
function stockPlace(entry: Entry): string | undefined {
  const found = /\.hcl:(\d+),(\d+)-/.exec(entry.run_output.stderr.replace(/^.*\n/, ""));
  return found === null ? undefined : `${found[1]},${found[2]}`;
}

describe("job files that stock Nomad 2.0.5 refuses", () => {
  it("are all recorded ones", () => {
    expect(expected.length).toBeGreaterThan(100);
  });

  for (const entry of expected) {
    const differs = DIFFERENT[entry.file];
    if (entry.run_output.exit_code !== 0) {
      const place = stockPlace(entry);
      it(`${entry.file} is refused at ${place ?? "no place"}`, () => {
        const { job, diagnostics } = parse(entry);
        expect(job).toBeUndefined();
        const first = diagnostics.find((d) => d.severity === "error");
        const at =
          first?.subject === undefined ? undefined : `${first.subject.start.line},${first.subject.start.column}`;
        if (EITHER[entry.file] === undefined) expect(`${at} ${first?.summary}`).toBe(`${place} ${first?.summary}`);
        else expect(EITHER[entry.file]).toContain(at);
        expect(first?.detail).not.toBe("");
      });
      continue;
    }
    const accepted = differs?.accepted ?? entry.validate.exit_code === 0;
    it(`${entry.file} is ${accepted ? "accepted" : "refused by validation"}${differs ? `: ${differs.reason}` : ""}`, () => {
      const { job, diagnostics } = parse(entry);
      if (job === undefined && !accepted && differs !== undefined) {
        expect(diagnostics[0]?.subject?.start.line).toBeGreaterThan(1);
        return;
      }
      expect(formatDiagnostics(diagnostics)).toBe("");
      const complete = canonicalizeJob(job ?? {});
      const errors = [
        ...validateJob(complete).errors,
        ...refuseUnsupported(complete, { drivers: ["raw_exec", "${raw_exec}"] }),
      ];
      if (accepted) expect(errors).toEqual([]);
      else expect(errors.length).toBeGreaterThan(0);
      for (const error of errors)
        expect(error).toMatchObject({ code: expect.stringMatching(/^[a-z-]+$/), message: expect.stringMatching(/./) });
    });
  }
});
