import { readmeExample } from "@outrider/build-config/readme-example";
import { expect, it } from "vitest";

it("the example of the README has at most 25 lines and prints what the README says", { timeout: 60_000 }, () => {
  const example = readmeExample(new URL("..", import.meta.url));
  expect(example.lines).toBeLessThanOrEqual(25);
  expect(example.promised).not.toBe("");
  expect(example.run()).toBe(example.promised);
});
