import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The first TypeScript example in a README. */
export interface ReadmeExample {
  readonly lines: number;
  /** What it is said to print: by the block of text that follows, or by a comment on each line that prints. */
  readonly promised: string;
  /** Runs it in a process of its own, inside the package, which it finds by its name as a reader's would. Gives what it prints. */
  run(): string;
}

/** The example in the README of the package in this folder. */
export function readmeExample(folder: URL): ReadmeExample {
  const packageDir = fileURLToPath(folder);
  const readme = readFileSync(join(packageDir, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```(\w*)\n(.*?)^```/gms)].map(([, kind, text = ""]) => ({ kind, text }));
  const at = blocks.findIndex(({ kind }) => kind === "ts");
  const code = blocks[at]?.text ?? "";
  const next = blocks[at + 1];
  const comments = [...code.matchAll(/(?:console\.log\(.*\/\/ (?:prints: )?|\/\/ prints: )(.*)$/gm)];
  return {
    lines: code.trimEnd().split("\n").length,
    promised: next?.kind === "text" ? next.text : comments.map(([, said]) => `${said}\n`).join(""),
    run: () => runIn(join(packageDir, "test"), code),
  };
}

function runIn(dir: string, code: string): string {
  const folder = mkdtempSync(join(dir, ".readme-"));
  try {
    const file = join(folder, "example.mts");
    writeFileSync(file, code);
    const args = ["--import", "tsx", "--conditions=@outrider/source", file];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, encoding: "utf8" });
    if (status !== 0 || stderr !== "") throw new Error(`the example ended with ${status}: ${stderr}`);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
