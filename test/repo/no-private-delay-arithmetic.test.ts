import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/**
 * Retry delays come from @outrider/backoff alone: its arithmetic cannot overflow, and its timers keep waits of any length
 * (hashicorp/nomad#18199 came from a dozen private copies).
 */
const WORDS = "(?:attempt|retry|retries|tries|failures?|backoff)";
const DELAY = "(?:delay|wait|backoff|pause)";

const RULES: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "power of an attempt", pattern: new RegExp(`(?:\\*\\*|<<|Math\\.pow\\()[^;]*\\b\\w*${WORDS}\\w*`, "i") },
  { name: "power of an attempt", pattern: new RegExp(`\\b\\w*${WORDS}\\w*\\s*(?:\\*\\*|<<)`, "i") },
  {
    name: "power of two as a delay",
    pattern: new RegExp(`\\b\\w*${DELAY}\\w*\\s*=[^=;]*(?:\\*\\*|<<|Math\\.pow\\()`, "i"),
  },
  { name: "growing delay", pattern: new RegExp(`\\b\\w*${DELAY}\\w*\\s*(?:\\*=|<<=|\\*\\*=)`, "i") },
  { name: "growing delay", pattern: new RegExp(`\\b(\\w*${DELAY}\\w*)\\s*=[^=;]*\\b\\1\\s*(?:\\*|<<)`, "i") },
  { name: "raw timer", pattern: /(?<![.\w$])(?:globalThis\.|window\.)?set(?:Timeout|Interval)\s*\(/ },
  { name: "raw timer", pattern: /from\s+"(?:node:)?timers(?:\/promises)?"|(?<![.\w$])scheduler\.wait\s*\(/ },
];

/** Lines that are right although they match: file, a piece of the line, and why. */
const ALLOWED: readonly { readonly file: string; readonly line: string; readonly why: string }[] = [
  {
    file: "packages/backoff/src/backoff.ts",
    line: "Math.min(limit, delay * p)",
    why: "the one place of the arithmetic",
  },
  {
    file: "packages/backoff/src/clock.ts",
    line: "globalThis.setTimeout(fn, whole)",
    why: "systemClock is the one door to real timers",
  },
];

/** Definitions of methods called setTimeout (clocks) are not calls. */
const DEFINITION =
  /^\s*(?:readonly |async )?set(?:Timeout|Interval)\s*\([^)]*\)\s*(?::[^{]*)?[{;]|^\s*set(?:Timeout|Interval)\s*\(\w+: /;

/** Everything between comment marks is prose. */
function withoutComments(line: string): string {
  return line.replace(/\/\/.*$/, "").replace(/^\s*\/?\*.*$/, "");
}

/** The rule that a line breaks. */
function broken(line: string): string | undefined {
  const code = withoutComments(line);
  if (DEFINITION.test(code)) return undefined;
  return RULES.find(({ pattern }) => pattern.test(code))?.name;
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|js|mjs)$/.test(entry.name))
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .filter((file) => /^(?:packages|apps)\/[^/]+\/src\//.test(file) && !file.includes("/gen/"));
}

describe("no private delay arithmetic", () => {
  it.each([
    "const delay = base * 2 ** attempt;",
    "await sleep(Math.min(cap, Math.pow(2, retries) * 250));",
    "const ms = 1000 << tryCount + attempts;",
    "let wait = 1 << n;",
    "backoffMs *= 2;",
    "delay = Math.min(delay * 2, MAX_DELAY);",
    "setTimeout(() => poll(), interval);",
    "const timer = globalThis.setTimeout(fn, ms);",
    'import { setTimeout as nap } from "node:timers/promises";',
  ])("would find: %s", (line) => {
    expect(broken(line)).toBeDefined();
  });

  it.each([
    "const handle = clock.setTimeout(fn, delay);",
    "  setTimeout(fn: () => void, ms: number): unknown;",
    "  setTimeout(fn, ms) {",
    "const seconds = delayMs / 1000;",
    "const flags = 1 << bit;",
    "// delay = base * 2 ** attempt overflows",
    " * or setTimeout(fn, ms)",
    "const waitMs = Number(seconds) * 1000;",
  ])("leaves alone: %s", (line) => {
    expect(broken(line)).toBeUndefined();
  });

  it("is in no source of packages and apps", () => {
    const found: string[] = [];
    const files = [...sources("packages"), ...sources("apps")];
    const used = new Set<unknown>();
    for (const file of files) {
      for (const [i, line] of readFileSync(file, "utf8").split("\n").entries()) {
        const rule = broken(line);
        if (rule === undefined) continue;
        const allowed = ALLOWED.find((entry) => entry.file === file && line.includes(entry.line));
        if (allowed === undefined) found.push(`${file}:${i + 1}: ${rule}: ${line.trim()}`);
        else used.add(allowed);
      }
    }
    expect(files.length).toBeGreaterThan(20);
    expect(found).toEqual([]);
    expect(ALLOWED.filter((entry) => !used.has(entry))).toEqual([]);
  });
});
