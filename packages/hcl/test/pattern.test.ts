import { describe, expect, it } from "vitest";
import { ev } from "./ev.ts";

const q = JSON.stringify;
const replace = (text: string, pattern: string, by: string): unknown =>
  ev(`regex_replace(s, p, r)`, { s: text, p: pattern, r: by });
const all = (pattern: string, text: string): unknown => ev("regexall(p, s)", { s: text, p: pattern });

describe("patterns", () => {
  // What JavaScript's engine and RE2 agree on is checked against JavaScript's.
  it.each([
    ["a", "banana"],
    ["an?", "banana"],
    ["a*", "baaac"],
    ["a*?", "baaac"],
    ["a+?", "baaac"],
    ["(a|ab)(c|bcd)", "abcd"],
    ["[a-c]+", "xabcx"],
    ["[^a-c]+", "xabcx"],
    ["\\d+", "a1b22"],
    ["\\w+\\b", "foo bar"],
    ["\\Boo", "foo oo"],
    ["\\s", "a b\tc"],
    ["\\D\\W\\S", "a.b"],
    [".", "a\nb😀"],
    ["^a", "a\na"],
    ["a$", "a\na"],
    ["a{2}", "aaaaa"],
    ["a{2,}", "aaaaa"],
    ["a{1,2}", "aaaaa"],
    ["a{1,2}?", "aaaaa"],
    ["a{,2}", "a{,2}"],
    ["x|y|", "xyz"],
    ["(?:ab)+", "ababx"],
    ["()", "ab"],
    ["\\.", "a.b"],
    ["[\\d-]+", "1-2"],
    ["[]a]", "]a"],
    ["[a\\]]", "]a"],
    ["\\x41", "A"],
    ["\\t", "\t"],
    ["[\\n]", "\n"],
    ["\\p{L}+", "aé1"],
    ["\\P{L}", "aé1"],
    ["(a)|(b)", "ab"],
    ["(a*)*", "b"],
    ["(a|b)*c", "ababc"],
    ["a||b", "ab"],
  ])("%s on %j agrees with the engine of JavaScript", (pattern, text) => {
    const js = pattern === "[]a]" ? "[\\]a]" : pattern === "a{,2}" ? "a\\{,2\\}" : pattern;
    const want = Array.from(text.matchAll(new RegExp(js, "gu")), (m) => m[0]);
    // An empty match directly behind another one does not count in RE2.
    const got = all(pattern, text) as unknown[];
    const flat = got.map((g) => (typeof g === "string" ? g : undefined));
    if (!flat.includes(undefined) && !want.includes("")) expect(flat).toEqual(want);
    expect(replace(text, `(${pattern})`, "<$1>")).toBe(
      text.replace(new RegExp(js, "gu"), (m, ...rest) => {
        const at = rest.find((x) => typeof x === "number") as number;
        const behind =
          m === "" &&
          want.length > 0 &&
          [...text.matchAll(new RegExp(js, "gu"))].some((o) => o[0] !== "" && o.index + o[0].length === at);
        return behind ? "" : `<${m}>`;
      }),
    );
  });

  it("know RE2's own forms", () => {
    expect(all("(?i)ab", "AB aB")).toEqual(["AB", "aB"]);
    expect(all("(?i:a)b", "AB Ab")).toEqual(["Ab"]);
    expect(all("(?s).", "\n")).toEqual(["\n"]);
    expect(all("(?m)^a$", "a\na")).toEqual(["a", "a"]);
    expect(all("(?m-m)^a", "a\na")).toEqual(["a"]);
    expect(all("\\Aa|b\\z", "aab")).toEqual(["a", "b"]);
    expect(all("[[:alpha:]]+", "ab1")).toEqual(["ab"]);
    expect(all("[[:^alpha:][:space:]]+", "ab1 ")).toEqual(["1 "]);
    expect(all("\\x{1F600}", "😀")).toEqual(["😀"]);
    expect(all("\\pL\\p{Greek}\\p{^Greek}", "aαb")).toEqual(["aαb"]);
    expect(all("(?i)[a-c]É", "Bé")).toEqual(["Bé"]);
  });

  it("give groups by number and name", () => {
    expect(ev('regex("(\\\\d+)-(\\\\d+)", "x 1-2")')).toEqual(["1", "2"]);
    expect(ev('regex("(a)|(b)", "b")')).toEqual([null, "b"]);
    expect(ev('regex("(?P<y>\\\\d+)-(?<m>\\\\d+)", "2026-01")')).toEqual({ y: "2026", m: "01" });
    expect(ev('regex("x", "y")')).toBe("function-failed 1:13");
    expect(replace("a1", "(?P<l>[a-z])(\\d)", "$2${l}$$${9}$none")).toBe("1a$");
  });

  it.each([
    "(",
    ")",
    "a)",
    "[",
    "[a",
    "*a",
    "a**",
    "a{2,1}",
    "a{2000}",
    "\\",
    "\\q",
    "(?<a>x)(?<a>y)",
    "(?=a)",
    "(?U)a",
    "\\xZ",
    "\\p",
    "\\p{Nope}",
    "[b-a]",
    "[[:nope:]]",
    "[\\",
    "a\\",
    "(".repeat(300),
    "(a{1000}){1000}",
    "(?:(?:a{50}){50}){50}",
  ])("refuse %j", (pattern) => {
    expect(ev(`regexall(${q(pattern)}, "a")`)).toBe("function-failed 1:11");
  });
});
