import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTemplate } from "../../src/task/template/parse-template.ts";
import { renderTemplate } from "../../src/task/template/render-template.ts";
import type { TemplateData } from "../../src/task/template/template-functions.ts";

const VARS: Record<string, Record<string, string>> = { "nomad/jobs/web": { color: "red", size: "3" } };
const data: TemplateData = {
  env: (name) => ({ HOME: "/root" })[name] ?? "",
  nomadVar: (path) => (Object.hasOwn(VARS, path) ? VARS[path] : undefined),
  hasVar: (path) => Object.hasOwn(VARS, path),
};
const render = (source: string, strict = false): string => renderTemplate(parseTemplate(source), data, { strict });

describe("templates", () => {
  it.each([
    ["plain\n", "plain\n"],
    ['{{ env "HOME" }}', "/root"],
    ['{{ with nomadVar "nomad/jobs/web" }}{{ .color }}{{ end }}', "red"],
    ['{{ with nomadVar "none" }}x{{ else }}y{{ end }}', "y"],
    ['{{ range $k, $v := nomadVar "nomad/jobs/web" }}{{ $k }}={{ $v }};{{ end }}', "color=red;size=3;"],
    ['a {{- /* comment */ -}} b {{- " c " -}} d', "ab c d"],
    ['{{ if eq (env "HOME") "/root" }}yes{{ else if false }}no{{ else }}other{{ end }}', "yes"],
    ["{{ if false }}1{{ else if true }}2{{ end }}3", "23"],
    ['{{ $x := "a" }}{{ if true }}{{ $x = "b" }}{{ end }}{{ $x }}', "b"],
    ['{{ "a,b" | split "," | join "-" | toUpper }}', "A-B"],
    ["{{ `raw}}` }}", "raw}}"],
    ['{{ "}}" }}', "}}"],
    ['{{ printf "%05d|%-4s|%q|%.2f|%%" 42 "ab" "c" 1.5 }}', '00042|ab  |"c"|1.50|%'],
    ['{{ (nomadVar "nomad/jobs/web").color }}', "red"],
    ['{{ range "a b" | split " " }}[{{ . }}]{{ end }}', "[a][b]"],
    ["{{ and true 0 }}{{ or 0 2 }}{{ not nil }}{{ len `abc` }}", "02true3"],
    ['{{ index (nomadVar "nomad/jobs/web") "size" | parseInt | add 4 }}', "7"],
    ["{{ .missing.deeper }}", "<no value>"],
  ])("renders %j", (source, expected) => expect(render(source)).toBe(expected));

  it("takes other delimiters", () => {
    expect(
      renderTemplate(parseTemplate('<< env "HOME" >> {{ x }}', { leftDelim: "<<", rightDelim: ">>" }), data, {
        strict: false,
      }),
    ).toBe("/root {{ x }}");
  });

  it.each([
    ["{{ key `a` }}", /line 1: function "key" is not supported/],
    ["\n{{ with secret `a` }}{{ end }}", /line 2: function "secret" is not supported/],
    ["{{ if true }}", /no \{\{end\}\}/],
    ["{{ end }}", /unexpected/],
    ["{{ env", /not closed/],
    ["{{ (env `a` }}", /not closed/],
    ["{{ env `a`) }}", /unexpected \)/],
    ["{{ $x }}", /not declared/],
    ["{{ template `a` }}", /not supported/],
    ["{{ }}", /empty/],
    ["{{ 1 2 }}", /not a function/],
    ["{{ range 5 }}{{ end }}", /range cannot/],
    ["{{ lt 1 `a` }}", /cannot be compared/],
    ["{{ ! }}", /unexpected/],
  ])("refuses %j by line and word", (source, message) => expect(() => render(source)).toThrow(message));

  it("fails for a missing key only when asked to", () => {
    const source = '{{ with nomadVar "nomad/jobs/web" }}{{ .nope }}{{ end }}';
    expect(render(source)).toBe("<no value>");
    expect(() => render(source, true)).toThrow(/no entry for key "nope"/);
    expect(render("{{ with nomadVar `nomad/jobs/web` }}{{ .constructor }}{{ end }}")).toBe("<no value>");
  });

  it("ends for any text in a result or an error", () => {
    const piece = fc.constantFrom(
      "{{",
      "}}",
      "{{-",
      "-}}",
      "if",
      "end",
      "else",
      "range",
      ".",
      "$x",
      ":=",
      "(",
      ")",
      "|",
      '"a"',
      "`",
      "env",
      " ",
      "1",
      "x",
      "/*",
      "*/",
      "\n",
      '"',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (parts) => {
        try {
          expect(typeof render(parts.join(""))).toBe("string");
        } catch (error) {
          expect((error as { code?: string }).code).toBe("ERR_OUTRIDER_TASK_TEMPLATE");
        }
      }),
      { numRuns: 500 },
    );
  });
});
