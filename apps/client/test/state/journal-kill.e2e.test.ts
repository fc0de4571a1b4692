import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openJournalStore } from "../../src/state/journal-store.ts";

const here = dirname(fileURLToPath(import.meta.url));
let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "outrider-kill-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function writeUntilKilled(first: number, lines: number): Promise<number> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", "--conditions=@outrider/source", join(here, "fixtures-kill-writer.ts"), dir, String(first)],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let text = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    text += chunk;
    if (text.split("\n").length > lines) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.once("close", resolve));
  const whole = text.slice(0, text.lastIndexOf("\n")).split("\n");
  return Number(whole.at(-1));
}

it("has every acknowledged write after kill -9, also while compacting", async () => {
  let next = 0;
  for (let round = 0; round < 12; round++) {
    const acknowledged = await writeUntilKilled(next, 20 + ((round * 37) % 60));
    const store = await openJournalStore({ dir });
    expect(store.quarantined).toEqual([]);
    for (let n = Math.max(0, acknowledged - 100); n <= acknowledged; n++) {
      for (let i = 0; i < 1 + (n % 5); i++) expect(store.get(`seen/${n}/${i}`), `write ${n}/${i}`).toBe(1);
    }
    await store[Symbol.asyncDispose]();
    next = acknowledged + 1;
  }
  expect(next).toBeGreaterThan(200);
});

const canMount = (() => {
  const probe = mkdtempSync(join(tmpdir(), "outrider-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", probe], { stdio: "ignore" });
    execFileSync("umount", [probe], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
})();

it.skipIf(!canMount)(
  "tells a really full disk, keeps all it acknowledged and recovers (needs the right to mount)",
  async () => {
    const mount = join(dir, "small");
    mkdirSync(mount);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", mount]);
    try {
      const store = await openJournalStore({ dir: mount });
      const kept: string[] = [];
      let full = 0;
      for (let n = 0; n < 400; n++) {
        await store.write({ put: { [`k${n}`]: "x".repeat(4000) } }).then(
          () => kept.push(`k${n}`),
          (reason: unknown) => {
            expect(reason).toMatchObject({ code: "ERR_OUTRIDER_STATE_FULL", recoverable: true });
            full++;
          },
        );
      }
      expect(full).toBeGreaterThan(0);
      await store.write({ put: { terminal: "exit 7" }, urgent: true });
      execFileSync("mount", ["-o", "remount,size=4m", mount]);
      await store.write({ put: { after: 1 } });
      await store[Symbol.asyncDispose]();
      const again = await openJournalStore({ dir: mount });
      expect(again.quarantined).toEqual([]);
      for (const key of [...kept, "terminal", "after"]) expect(again.get(key), key).toBeDefined();
      await again[Symbol.asyncDispose]();
    } finally {
      execFileSync("umount", [mount]);
    }
  },
);
