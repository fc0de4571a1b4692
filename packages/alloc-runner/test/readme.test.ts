import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";

it("the example of the README runs and prints what it says", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(code.split("\n").length).toBeLessThanOrEqual(26);
  const expected = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map((m) => m[1]);
  const dir = mkdtempSync(path.join(import.meta.dirname, ".readme-"));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    const file = path.join(dir, "example.ts");
    writeFileSync(file, code.replace('"@outrider/alloc-runner"', '"../../src/index.ts"'));
    await import(pathToFileURL(file).href);
    expect(log.mock.calls.map((args) => args.join(" "))).toEqual(expected);
  } finally {
    log.mockRestore();
    rmSync(dir, { recursive: true });
  }
});
