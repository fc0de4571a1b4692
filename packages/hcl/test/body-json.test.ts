import { expect, it } from "vitest";
import { bodyToJson, parse } from "../src/index.ts";

const json = (text: string): unknown => JSON.parse(JSON.stringify(bodyToJson(parse(text).body)));

it("groups blocks by type and labels and keeps expressions as text, as hcl2json does", () => {
  expect(
    json(`
a = 1
b = -2.5
c = "x-\${d.e}"
f = [1, "two", g + 1]
h = { i = true, (j) = null, "k l" = 9007199254740993 }
service "web" "v1" {
  port = 80
}
service "web" "v1" {}
update {}
`),
  ).toEqual({
    a: 1,
    b: -2.5,
    c: "x-${d.e}",
    f: [1, "two", "${g + 1}"],
    h: { i: true, "${(j)}": null, "k l": 9007199254740992 },
    service: { web: { v1: [{ port: 80 }, {}] } },
    update: [{}],
  });
});

it("keeps directives of templates, escapes and signs of names", () => {
  expect(json('a = "%{if b ~}c%{ else }d%{ endif }%{ for k, v in m }${v}%{ endfor }$${x}%%{y}"')).toEqual({
    a: "%{if b}c%{else}d%{endif}%{for k, v in m}${v}%{endfor}$${x}%%{y}",
  });
  expect(json("a = -b\nc = !d")).toEqual({ a: "${-b}", c: "${!d}" });
});

it("lets the last of two things of one name remain, and no name reaches a prototype", () => {
  expect(json('a {}\na "x" {}')).toEqual({ a: { x: [{}] } });
  expect(json('a "x" {}\na {}')).toEqual({ a: [{}] });
  expect(json("a {}\na = 1")).toEqual({ a: 1 });
  const { body } = parse('__proto__ "x" {}\nconstructor = 1');
  expect(Object.keys(bodyToJson(body))).toEqual(["__proto__", "constructor"]);
});
