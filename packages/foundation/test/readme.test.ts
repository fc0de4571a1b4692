import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";

it("the example of the README runs and prints what it says", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const expected = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map((m) => m[1]);
  expect(expected.length).toBeGreaterThan(0);
  const dir = mkdtempSync(join(import.meta.dirname, ".readme-"));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    const file = join(dir, "example.ts");
    writeFileSync(file, code.replace('"@outrider/foundation"', '"../../src/index.ts"'));
    await import(pathToFileURL(file).href);
    expect(log.mock.calls.map((args) => args.join(" "))).toEqual(expected);
  } finally {
    log.mockRestore();
    rmSync(dir, { recursive: true });
  }
});
