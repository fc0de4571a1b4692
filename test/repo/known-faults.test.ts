import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Fault {
  readonly row: string;
  readonly fault: string;
  readonly seen: string;
  readonly package: string;
  readonly file: string;
  readonly old: string;
  readonly new: string;
  readonly test: string;
  readonly title: string;
}
const faults = JSON.parse(readFileSync("test/known-faults.json", "utf8")) as Fault[];
const page = readFileSync("docs/testing.md", "utf8");

describe("the list of known faults (node scripts/known-faults.mjs puts each in and runs its test)", () => {
  it.each(faults.map((f) => [f.row, f.fault, f] as const))("%s, %s: has its place and its test", (_row, _fault, f) => {
    const parts = readFileSync(`packages/${f.package}/${f.file}`, "utf8").split(f.old);
    expect(parts.length - 1, `"${f.old}" in ${f.package}/${f.file}`).toBe(1);
    expect(f.new).not.toBe(f.old);
    expect(readFileSync(`packages/${f.package}/${f.test}`, "utf8")).toContain(f.title);
    expect(page).toContain(`| ${f.fault} | ${f.seen} | ${f.package} | \`${f.test}\`: ${f.title} |`);
  });

  it("is told whole in docs/testing.md, and nothing else is", () => {
    const table = page.slice(page.indexOf("<!-- faults:start -->"), page.indexOf("<!-- faults:end -->"));
    expect(table.match(/^\| /gm)).toHaveLength(faults.length + 1);
  });
});
