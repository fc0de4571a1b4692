import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { expect, it } from "vitest";

/** Files of the project: what git knows, or what a copy without git holds outside of the ignored folders. */
function files(): string[] {
  const listed = existsSync(".git")
    ? execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
        encoding: "utf8",
        maxBuffer: 1 << 26,
      }).split("\0")
    : execFileSync(
        "find",
        [
          ".",
          "-type",
          "f",
          "-not",
          "-path",
          "*/node_modules/*",
          "-not",
          "-path",
          "*/dist/*",
          "-not",
          "-path",
          "./.outrider/*",
          "-print0",
        ],
        { encoding: "utf8", maxBuffer: 1 << 26 },
      ).split("\0");
  return listed.filter((f) => f !== "" && existsSync(f) && statSync(f).isFile());
}

const text = files()
  .filter((f) => !/\/fixtures\/|\.(png|bin|ico|wasm)$/.test(f))
  .map((f) => [f, readFileSync(f, "utf8")] as const);

it("names no registry host and no path of the machine it was written on", () => {
  // The words are put together here, so that this file does not hold them.
  const forbidden = new RegExp(
    [
      "registry" + "\\.npmjs",
      "registry" + "\\.yarnpkg",
      "proxy" + "\\.golang",
      "deb" + "\\.debian",
      "/" + "work/(main|shared)",
      "\\.library" + "/",
    ].join("|"),
  );
  expect(text.filter(([, body]) => forbidden.test(body)).map(([f]) => f)).toEqual([]);
});

it("leaves nothing for later: no to-do marks, skipped or focused tests without a reason", () => {
  const unfinished = new RegExp(
    `\\b(${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b|\\b(it|test|describe)\\.(only|todo)\\(|not ${"implemented"} yet`,
  );
  const seen = text
    .filter(([f, body]) => /\.(ts|mjs|js|cjs)$/.test(f) && !f.includes("/gen/") && unfinished.test(body))
    .map(([f]) => f);
  expect(seen).toEqual([]);
});
