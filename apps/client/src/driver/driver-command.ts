/** How this build runs its driver process. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DriverCommand } from "./driver-process.ts";

/** Keeps the process small: it lives as long as any task, its young garbage is tiny, and so is what threads could help with. */
const SMALL_HEAP = [
  "--max-semi-space-size=1",
  "--initial-old-space-size=4",
  "--single-threaded-gc",
  "--v8-pool-size=1",
];

/** The built entry beside this module, or, when the sources themselves run, the source through tsx. */
export function defaultDriverCommand(): DriverCommand {
  const built = fileURLToPath(new URL("./driver-main.js", import.meta.url));
  if (existsSync(built)) return { command: process.execPath, args: [...SMALL_HEAP, built] };
  const source = fileURLToPath(new URL("./process-driver/driver-main.ts", import.meta.url));
  const loader = import.meta.resolve("tsx");
  return {
    command: process.execPath,
    args: [...SMALL_HEAP, "--import", loader, "--conditions=@outrider/source", source],
  };
}
