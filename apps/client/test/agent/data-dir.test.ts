import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDataDir } from "../../src/agent/data-dir.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "outrider-data-dir-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

const mode = (): number => statSync(root).mode & 0o777;

it("makes an empty folder private, also one of a first start that was broken off", async () => {
  chmodSync(root, 0o755);
  writeFileSync(join(root, "agent.log"), "");
  await (await openDataDir(root))[Symbol.asyncDispose]();
  expect(mode()).toBe(0o700);
});

it("takes no folder that others use, and leaves it as it is", async () => {
  chmodSync(root, 0o755);
  writeFileSync(join(root, "letter"), "");
  await expect(openDataDir(root)).rejects.toMatchObject({
    code: "ERR_OUTRIDER_AGENT_DATA_DIR",
    message: expect.stringContaining('"letter"'),
  });
  expect(mode()).toBe(0o755);
});

it("takes a private folder with other files, and its own again when someone opened it", async () => {
  writeFileSync(join(root, "letter"), "");
  await (await openDataDir(root))[Symbol.asyncDispose]();
  chmodSync(root, 0o755);
  await (await openDataDir(root))[Symbol.asyncDispose]();
  expect(mode()).toBe(0o700);
});

it.runIf(process.geteuid?.() === 0)(
  "lets others walk through once a task needs it, and over the next start",
  async () => {
    const dir = await openDataDir(root);
    expect(mode()).toBe(0o700);
    await dir.letPass();
    expect(mode()).toBe(0o711);
    await dir[Symbol.asyncDispose]();
    await (await openDataDir(root))[Symbol.asyncDispose]();
    expect(mode()).toBe(0o711);
  },
);
