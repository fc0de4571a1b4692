import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the example of the README has at most 25 lines and prints what the README says", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, code = ""] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const [, output = ""] = /```text\n(.*?)```/s.exec(readme) ?? [];
  expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
  const source = new URL("../src/index.ts", import.meta.url).href;
  const folder = await mkdtemp(join(tmpdir(), "readme-"));
  try {
    const file = join(folder, "example.mts");
    await writeFile(file, code.replaceAll('"@outrider/cron-schedule"', JSON.stringify(source)));
    const root = fileURLToPath(new URL("../../..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", file], { cwd: root });
    expect(stdout).toBe(output);
  } finally {
    await rm(folder, { recursive: true });
  }
});
