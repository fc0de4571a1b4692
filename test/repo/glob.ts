import { readdirSync } from "node:fs";
import { join } from "node:path";

const SKIPPED = new Set(["node_modules", "dist", "coverage", ".turbo", "fixtures"]);

/** Files below some folders that a test takes. */
export function globSync(roots: readonly string[], take: (file: string) => boolean): string[] {
  const found: string[] = [];
  const walk = (dir: string): void => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) walk(path);
      } else if (take(path)) found.push(path);
    }
  };
  for (const root of roots) walk(root);
  return found;
}
