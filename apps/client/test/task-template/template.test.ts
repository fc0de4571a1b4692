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
    ["{{ toLower `AB` }}{{ trimSpace ` c ` }}{{ replaceAll `c` `d` `cc` }}", "abcdd"],
    ["{{ contains `b` `abc` }}{{ split `,` `a,b` | contains `b` }}", "truetrue"],
    ["{{ base64Encode `hé` }}{{ base64Decode `aMOp` }}", "aMOphé"],
    ["{{ toJSON (split `,` `a,b`) }}{{ toJSON nil }}", '["a","b"]null'],
    [
      "{{ subtract 1 3 }} {{ multiply 2 3 }} {{ len (split `,` `a,b`) }} {{ len (nomadVar `nomad/jobs/web`) }}",
      "2 6 2 2",
    ],
    ["{{ index (split `,` `a,b`) 1 }}{{ index (nomadVar `nomad/jobs/web`) `none` }}", "b<no value>"],
    ["{{ print `a` 1 true }}{{ println `b` 2 }}", "a1trueb 2\n"],
    ["{{ eq 1 2 1 }}{{ ne 1 2 }}{{ lt 1 2 }}{{ le `b` `a` }}{{ gt 2 1 }}{{ ge 1 1 }}", "truetruetruefalsetruetrue"],
    ["{{ split `,` `a,b` }}{{ nomadVar `nomad/jobs/web` }}", "[a b]map[color:red size:3]"],
    [
      "{{ range split `,` `a,b` }}{{ else }}none{{ end }}{{ range $i, $x := split `,` `a,b` }}{{ $i }}{{ $x }}{{ end }}",
      "0a1b",
    ],
    ["{{ range nomadVar `none` }}x{{ else }}none{{ end }}", "none"],
    [
      "{{ with $x := env `HOME` }}{{ $x }}{{ . }}{{ end }}{{ with env `NONE` }}x{{ else with `b` }}{{ . }}{{ end }}",
      "/root/rootb",
    ],
    ["{{ or `` `b` }}{{ and `` (index nil `x`) }}{{ true | and 1 }}{{ `` | or nil }}", "btrue"],
    ['{{ "a\\x41\\n\\a" | len }}', "4"],
    ["{{ if not (nomadVarExists `none`) }}{{ nomadVarExists `nomad/jobs/web` }}{{ end }}", "true"],
    ["{{ $.x }}{{ (printf `%s` `a` | toUpper) }}", "<no value>A"],
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
    ["{{ /* open }}", /not closed/],
    ["{{ define `a` }}", /not supported/],
    ["a\n{{ $x, 1 := 2 }}", /unexpected|bad variables/],
    ["{{ if true }}{{ else }}{{ else }}{{ end }}", /no \{\{end\}\}/],
    ["{{ range env `a` }}{{ else if true }}{{ end }}", /unexpected/],
    ["{{ range $a, $b, $c := env `a` }}{{ end }}", /bad variables/],
    ["{{ env nope }}", /"nope" is not supported/],
    ["{{ 1 | 2 }}", /cannot take the result of a pipe/],
    ["{{ $x = 1 }}", /line 1: variable \$x is not declared/],
    ["{{ and }}", /and: expected at least 1/],
    ["\n{{ toLower }}", /line 2: toLower: expected 1 argument, got 0/],
    ["{{ add 1 2 3 }}", /add: expected 2 arguments, got 3/],
    ["{{ add `1` 2 }}", /add: expected a number, got 1/],
    ["{{ toLower 1 }}", /toLower: expected a string/],
    ["{{ join `,` `a` }}", /join: expected a list/],
    ["{{ base64Decode `a` }}", /not base64/],
    ["{{ parseInt `1.5` }}", /not a whole number/],
    ["{{ len 1 }}", /has no length/],
    ["{{ index `a` 0 }}", /index: a has no 0/],
    ["{{ printf `%x` 1 }}", /verb that is not supported/],
    ["{{ printf `%s` }}", /more verbs than values/],
    ["{{ printf `%99999s` `a` }}", /verb that is not supported/],
    ["{{ printf `%f` `a` }}", /expected a number/],
    ["{{ (env `HOME`).Value }}", /can't evaluate field Value/],
    ["{{ " + "(".repeat(200) + "1" + ")".repeat(200) + " }}", /nested deeper/],
    ["{{ if 1 }}".repeat(200), /nested deeper/],
    ["x".repeat(2 ** 20 + 1), /longer than/],
  ])("refuses %j by line and word", (source, message) => expect(() => render(source)).toThrow(message));

  it("fails for a missing key only when asked to", () => {
    const source = '{{ with nomadVar "nomad/jobs/web" }}{{ .nope }}{{ end }}';
    expect(render(source)).toBe("<no value>");
    expect(() => render(source, true)).toThrow(/no entry for key "nope"/);
    expect(render("{{ with nomadVar `nomad/jobs/web` }}{{ .constructor }}{{ end }}")).toBe("<no value>");
  });

  it("bounds its work, its texts and its output", () => {
    const grow = '{{ $x := "aaaaaaaaaaaaaaaa" }}' + "{{ $x = replaceAll `a` $x $x }}".repeat(5);
    expect(() => render(grow)).toThrow(/longer than/);
    const list = '{{ $l := split "," "' + ",".repeat(2000) + '" }}';
    expect(() => render(`${list}{{ range $l }}{{ range $l }}{{ end }}{{ end }}`)).toThrow(/more than \d+ steps/);
    expect(() => render(`${list}{{ range $l }}{{ range $l }}{{ . }}{{ end }}{{ end }}`)).toThrow(/more than \d+ steps/);
    expect(() => render(`${list}{{ $t := printf "%9999s" "a" }}{{ range $l }}{{ $t }}{{ end }}`)).toThrow(
      /output is larger/,
    );
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
