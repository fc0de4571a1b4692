/** The README's driver is run as it stands. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { DriverPlugin } from "../src/index.ts";
import { createBench } from "../src/testing/index.ts";

it("runs the driver of the README", async () => {
  const text = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  expect(code.trim().split("\n").length).toBeLessThanOrEqual(25);
  // Beside the tests, so that the package's own name resolves as it does for a user.
  const folder = mkdtempSync(join(import.meta.dirname, "readme-"));
  try {
    const file = join(folder, "driver.ts");
    writeFileSync(file, code);
    const { driver } = (await import(file)) as { driver: DriverPlugin };
    await using bench = await createBench({ create: () => driver });
    const { config, stdout } = await bench.task({ run: 'echo "hello $1"; exit 4', args: ["world"] });
    await bench.driver.startTask(config);
    expect((await bench.driver.waitTask(config.id)).exitCode).toBe(4);
    while (stdout() === "") await new Promise((resolve) => setTimeout(resolve, 2));
    expect(stdout()).toBe("hello world\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
