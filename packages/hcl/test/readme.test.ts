import { readmeExample } from "@outrider/build-config/readme-example";
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

it("the example of the README has at most 25 lines and prints what the README says", { timeout: 60_000 }, () => {
  const example = readmeExample(new URL("..", import.meta.url));
  expect(example.lines).toBeLessThanOrEqual(25);
  expect(example.promised).not.toBe("");
  expect(example.run()).toBe(example.promised);
});

it("the README lists every diagnostic code", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const source = await readFile(new URL("../src/diagnostic.ts", import.meta.url), "utf8");
  const codes = [...source.matchAll(/\| "([a-z-]+)"/g)].map((m) => m[1] as string).filter((c) => c !== "warning");
  expect(codes.length).toBeGreaterThan(50);
  for (const code of codes) expect(readme, code).toContain(`\`${code}\``);
});
