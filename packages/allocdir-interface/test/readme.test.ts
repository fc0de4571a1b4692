/** The README's examples are run as they stand, and print what they say. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "node:util";
import { expect, it, vi } from "vitest";

const text = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");

it.each(examples.map((code, i) => [i + 1, code] as const))("runs example %i", async (_i, code) => {
  expect(code.trim().split("\n").length).toBeLessThanOrEqual(25);
  const said: string[] = [];
  const log = vi
    .spyOn(console, "log")
    .mockImplementation((...parts: unknown[]) => void said.push(format(...parts).trim()));
  // Beside the tests, so that the package's own name resolves as it does for a user.
  const folder = mkdtempSync(join(import.meta.dirname, "readme-"));
  try {
    writeFileSync(join(folder, "example.ts"), code);
    await import(join(folder, "example.ts"));
  } finally {
    log.mockRestore();
    rmSync(folder, { recursive: true });
  }
  const promised = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map((match) => match[1]);
  expect(promised.length).toBeGreaterThan(0);
  expect(said).toEqual(promised);
});
