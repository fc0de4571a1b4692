import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTANTS, type Mutant } from "./mutants.ts";

/** A fault that never lets go of the process counts as noticed: no test run would end. */
const LIMIT_MS = 600_000;

/** What became of a mutant. */
export interface MutantResult {
  readonly id: string;
  /** The case that failed; `hang` where the run did not end, `crash` where the fault ended the process; undefined if nothing noticed it. */
  readonly by: string | undefined;
  readonly reason?: string | undefined;
}

/** Mutants whose fault can show for whoever runs this. */
export const reachable = (): readonly Mutant[] => MUTANTS.filter((one) => !one.root || process.geteuid?.() === 0);

/** Tries mutants, two at a time. */
export async function runMutants(
  mutants: readonly Mutant[],
  tell: (result: MutantResult) => void = () => undefined,
): Promise<MutantResult[]> {
  const queue = [...mutants];
  const results: MutantResult[] = [];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = await tryOne(next.id);
      results.push(result);
      tell(result);
    }
  };
  await Promise.all([work(), work()]);
  return results;
}

async function tryOne(id: string): Promise<MutantResult> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mutant-")));
  try {
    return await tryIn(folder, id);
  } finally {
    // Some faults are that mounts stay.
    const table = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    const mounts = table.map((line) => line.split(" ")[4] ?? "").filter((path) => path.startsWith(`${folder}/`));
    for (const path of mounts.reverse()) {
      const decoded = path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      );
      execFileSync("umount", ["-l", decoded]);
    }
    execFileSync("chmod", ["-R", "u+rwx", folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryIn(folder: string, id: string): Promise<MutantResult> {
  const args = [
    "--import",
    "tsx",
    "--conditions=@outrider/source",
    join(import.meta.dirname, "try-mutant.ts"),
    id,
    folder,
  ];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
    env: { ...process.env, TMPDIR: folder },
  });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (part: Buffer) => out.push(part));
  child.stderr.on("data", (part: Buffer) => err.push(part));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on("close", (...end) => resolve(end)),
  );
  if (signal === "SIGKILL") return { id, by: "hang" };
  const said = Buffer.concat(err).toString();
  if (/does not stand once|is called|ERR_MODULE_NOT_FOUND|Transform failed/.test(said)) throw new Error(said);
  if (code !== 0)
    return { id, by: `crash: ${said.split("\n").find((line) => /Error/.test(line)) ?? said.slice(0, 200)}` };
  const { by, reason } = JSON.parse(Buffer.concat(out).toString()) as Omit<MutantResult, "id">;
  return { id, by, reason };
}
