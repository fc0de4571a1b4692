import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "@outrider/foundation";
import { LogFolder } from "../../src/logs/log-folder.ts";

/** A logger that remembers its lines. */
export function recorder(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (first: object | string, second?: string): void =>
      void lines.push(`${level} ${typeof first === "string" ? first : second}`);
  const logger = {
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
    lines,
  };
  return logger;
}

/** An alloc folder with `alloc/logs` in it. */
export function makeLogs(): {
  root: string;
  dir: string;
  folder: LogFolder;
  files(name: string): Array<[string, string]>;
  text(name: string): string;
  remove(): void;
} {
  const root = mkdtempSync(join(tmpdir(), "outrider-logs-"));
  const dir = join(root, "alloc", "logs");
  mkdirSync(dir, { recursive: true });
  const folder = new LogFolder(root, ["alloc", "logs"]);
  const files = (name: string): Array<[string, string]> =>
    readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.startsWith(`${name}.`))
      .map(({ name: file }) => file)
      .sort((a, b) => Number(a.split(".").at(-1)) - Number(b.split(".").at(-1)))
      .map((file) => [file, readFileSync(join(dir, file), "latin1")]);
  return {
    root,
    dir,
    folder,
    files,
    text: (name) =>
      files(name)
        .map(([, text]) => text)
        .join(""),
    remove() {
      folder.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(check: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (check()) return;
    await pause(2);
  }
  throw new Error("timed out");
}
