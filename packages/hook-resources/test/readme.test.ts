import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("the example of the README runs as printed and prints what it says", { timeout: 60_000 }, () => {
  const example = /```ts\n([^]*?)```/.exec(readFileSync(new URL("../README.md", import.meta.url), "utf8"))![1]!;
  expect(example.trim().split("\n").length).toBeLessThanOrEqual(25);
  const expected = [...example.matchAll(/\/\/ prints: (.*)/g)].map((match) => match[1]);
  expect(expected.length).toBeGreaterThan(0);
  // Inside the package, so that it finds itself by its own name.
  const file = fileURLToPath(new URL(`readme-example-${process.pid}.mts`, import.meta.url));
  writeFileSync(file, example);
  try {
    const done = spawnSync(process.execPath, ["--import", "tsx", "--conditions=@outrider/source", file], {
      encoding: "utf8",
    });
    expect(done.stderr).toBe("");
    expect(done.stdout.trim().split("\n")).toEqual(expected);
  } finally {
    rmSync(file);
  }
});
