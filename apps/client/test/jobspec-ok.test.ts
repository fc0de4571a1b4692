import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { formatDiagnostics, parseJobFile } from "../src/jobspec/index.ts";

const ok = fileURLToPath(new URL("fixtures/jobspec/ok/", import.meta.url));

interface Entry {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly golden: string;
}

const manifest = JSON.parse(readFileSync(join(ok, "manifest.json"), "utf8")) as Entry[];

/** The options of the command line that made the golden file. */
function optionsOf(entry: Entry): { vars: Record<string, string>; varFiles: string[] } {
  const vars: Record<string, string> = {};
  const varFiles: string[] = [];
  for (let i = 0; i < entry.args.length; i += 1) {
    const arg = entry.args[i] as string;
    if (arg === "-var-file") varFiles.push(entry.args[(i += 1)] as string);
    else if (arg === "-var") {
      const pair = entry.args[(i += 1)] as string;
      vars[pair.slice(0, pair.indexOf("="))] = pair.slice(pair.indexOf("=") + 1);
    } else if (arg !== "-hcl2-strict=true") throw new Error(`unknown argument ${arg}`);
  }
  return { vars, varFiles };
}

describe("job files that stock Nomad 2.0.5 accepts", () => {
  it("are all of the golden pairs", () => {
    expect(manifest.length).toBe(48);
  });

  for (const entry of manifest) {
    it(`${entry.file} gives the job that the stock parser prints`, () => {
      const source = readFileSync(join(ok, entry.file));
      const { job, diagnostics } = parseJobFile(source, {
        filename: entry.file,
        env: entry.env,
        cwd: ok,
        ...optionsOf(entry),
      });
      expect(formatDiagnostics(diagnostics, source)).toBe("");
      const golden = JSON.parse(readFileSync(join(ok, entry.golden), "utf8")) as { Job: unknown };
      expect(JSON.parse(JSON.stringify(job))).toEqual(golden.Job);
    });
  }
});
