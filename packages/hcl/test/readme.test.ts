import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");

it("the example of the README has at most 25 lines and prints what the README says", { timeout: 60_000 }, async () => {
  const [, code = ""] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const [, output = ""] = /```text\n(.*?)```/s.exec(readme) ?? [];
  expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
  const source = new URL("../src/index.ts", import.meta.url).href;
  const folder = await mkdtemp(join(tmpdir(), "readme-"));
  try {
    const file = join(folder, "example.mts");
    await writeFile(file, code.replaceAll('"@outrider/hcl"', JSON.stringify(source)));
    const root = fileURLToPath(new URL("../../..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", file], { cwd: root });
    expect(stdout).toBe(output);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("the README lists every diagnostic code", async () => {
  const source = await readFile(new URL("../src/diagnostic.ts", import.meta.url), "utf8");
  const codes = [...source.matchAll(/\| "([a-z-]+)"/g)].map((m) => m[1] as string).filter((c) => c !== "warning");
  expect(codes.length).toBeGreaterThan(50);
  for (const code of codes) expect(readme, code).toContain(`\`${code}\``);
});
