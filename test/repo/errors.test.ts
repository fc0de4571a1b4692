import { globSync } from "./glob.ts";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const CODE = /\bERR_OUTRIDER_[A-Z0-9]+(?:_[A-Z0-9]+)+\b/g;

it("docs/errors.md lists the error codes of the sources, and only those", () => {
  const inSources = new Set<string>();
  for (const file of globSync(["packages", "apps"], (f) => /\/src\/.*\.ts$/.test(f) && !f.includes("/gen/"))) {
    for (const [code] of readFileSync(file, "utf8").matchAll(CODE)) inSources.add(code);
  }
  const rows = [...readFileSync("docs/errors.md", "utf8").matchAll(/^\| `(ERR_OUTRIDER_[A-Z0-9_]+)` \| (.+) \|$/gm)];
  expect(rows.map((r) => r[1] as string).sort()).toEqual([...inSources].sort());
  for (const [, code, meaning] of rows) expect((meaning as string).length, code).toBeGreaterThan(10);
});
