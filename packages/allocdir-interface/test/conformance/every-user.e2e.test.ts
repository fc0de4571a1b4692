import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ConformanceReport } from "../../src/conformance/index.ts";

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
const MINUTES = 10;

/** Runs all cases for an implementation in a process of its own. */
async function reportOf(name: string, uid: number | undefined): Promise<ConformanceReport> {
  const home = mkdtempSync(join(tmpdir(), "conformance-home-"));
  try {
    const args = ["--import", "tsx", "--conditions=@outrider/source", join(import.meta.dirname, "run.ts"), name];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit"],
      // The loader keeps what it translated in a folder of its user.
      env: { ...process.env, HOME: home, OUTRIDER_CONFORMANCE_ALL: "1" },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    const parts: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => parts.push(part));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(0);
    return JSON.parse(Buffer.concat(parts).toString()) as ConformanceReport;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const users = [
  ...(isRoot ? [["root", undefined] as const] : []),
  ["an ordinary user", isRoot ? NOBODY : undefined] as const,
];

for (const name of ["local", "memory", "mounts", "mounts with realDirs"]) {
  for (const [who, uid] of users) {
    it(`${name} passes all cases as ${who}`, { timeout: MINUTES * 60_000 }, async () => {
      const report = await reportOf(name, uid);
      const skipped = report.cases.filter((one) => one.result === "skipped");
      console.log(`${name} as ${who}: ${report.passed} passed, ${skipped.length} skipped`);
      for (const { id, reason } of skipped) console.log(`  ${id} is skipped: ${reason}`);
      expect(report.cases.filter((one) => one.result === "failed")).toEqual([]);
      expect(report.passed).toBeGreaterThan(160);
    });
  }
}
